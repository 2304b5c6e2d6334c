"""Native code in the process: objects, CPU features, threads, errors through the TVM FFI."""
