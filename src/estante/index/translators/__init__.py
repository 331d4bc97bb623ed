"""Translators of questions."""
