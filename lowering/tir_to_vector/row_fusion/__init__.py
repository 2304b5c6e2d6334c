"""Nests that run row by row, one on what another left in the cache."""
