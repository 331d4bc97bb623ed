"""What the analyzer knows of each language: its letters, its stop words, its stems."""
