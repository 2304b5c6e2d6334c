"""Traces of schedules: instructions, and their forms as Python, JSON and MLIR."""
