"""Rewrite patterns as passes, and the checks of what they write."""
