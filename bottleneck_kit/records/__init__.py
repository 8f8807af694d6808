"""The nouns of the flow as frozen dataclasses, and their JSON; no framework is loaded here."""
