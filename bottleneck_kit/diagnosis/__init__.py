"""Rules that conclude from evidence; no framework is loaded here."""
