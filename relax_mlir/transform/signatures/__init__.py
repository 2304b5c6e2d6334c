"""Passes that change what functions take and return: their parameters, tuples and outputs."""
