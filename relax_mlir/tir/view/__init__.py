"""Views that read and edit prim funcs: loops, blocks, indices, buffers, accesses."""
