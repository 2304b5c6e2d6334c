"""Serving of language models: caches of keys and values in pages, and their prim funcs."""
