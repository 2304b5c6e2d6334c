"""Targets: triple, CPU, instruction set and machine description."""
