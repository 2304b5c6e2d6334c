"""Kinds of passes: over functions and dataflow blocks, sequences, decorators."""
