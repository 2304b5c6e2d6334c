"""Instruction sets, a module for each; no other code asks for one by name."""
