"""Data movement: transposes, gathers, other index maps."""
