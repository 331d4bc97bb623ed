"""Adapters: what people already have, as a pipeline of the contract. Each is reached by its name in the registry."""
