"""Evidence of quality for any pipeline, ours or not; knows the contract alone."""
