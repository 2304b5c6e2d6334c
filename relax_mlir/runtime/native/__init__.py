"""Native code in the process: objects, CPU features, OpenMP, errors through the TVM FFI."""
