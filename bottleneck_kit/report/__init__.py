"""What the user holds and the renderers that show it; no framework is loaded here."""
