"""Where a shelf's entries stand, one plug-in a module; loaded by name."""
