"""The parts put together: a bookcase, its shelves, its sources and its settings."""
