"""Reductions and scans, of one value or of several."""
