"""Which remedy would bring what, one remedy a file; no framework is loaded here."""
