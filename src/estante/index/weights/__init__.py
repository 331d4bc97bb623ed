"""Weights that are made on the user's machine out of packages that are installed, and how they are kept."""
