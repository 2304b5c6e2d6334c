"""Structural equality: whether two programs are the same but for names."""
