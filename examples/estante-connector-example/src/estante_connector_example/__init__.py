"""Notebooks in SQLite behind the contract: an example to read and to copy."""
