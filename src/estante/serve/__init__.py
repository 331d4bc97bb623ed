"""Thin doors to a bookcase."""
