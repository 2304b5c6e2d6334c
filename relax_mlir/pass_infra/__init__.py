"""The pass infrastructure: contexts, kinds of passes, the registry of passes by name."""
