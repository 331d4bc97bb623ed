"""Who may read, what must not enter, and where a path may lead; it fails closed."""
