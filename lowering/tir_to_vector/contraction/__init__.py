"""Contractions: products of matrices in any layout, by register tiles blocked for the caches."""
