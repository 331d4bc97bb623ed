"""Where items come from, one plug-in a module; loaded by name."""
