"""Estante's own nouns and the ports of its plug-ins; standard library only."""
