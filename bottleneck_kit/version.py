"""The version of the kit, read by setup.cfg and written into every record."""

__version__ = "0.1.0"
