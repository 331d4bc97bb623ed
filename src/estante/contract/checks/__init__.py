"""What a pipeline is held to: one list of checks, which a validator prints and a test kit runs."""
