"""Prim funcs as MLIR operations, read and edited: loops, blocks, indices, buffers, accesses."""
