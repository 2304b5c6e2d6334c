"""Reading prim funcs of TVMScript: statements."""
