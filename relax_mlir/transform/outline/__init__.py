"""Outlining: runs of call_tir become one native function."""
