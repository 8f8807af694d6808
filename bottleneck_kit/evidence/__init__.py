"""Numbers with their spread, computed from a record; no framework is loaded here."""
