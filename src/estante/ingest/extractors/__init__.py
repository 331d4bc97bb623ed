"""What reads each kind of file, one plug-in a module; loaded by name."""
