"""Where texts are cut, one plug-in a module; loaded by name."""
