"""Reading prim funcs of TVMScript: expressions, intrinsics, vectors."""
