"""Vectors out of texts, one plug-in a module; loaded by name."""
