"""The calling convention: exported functions that check their arguments, through the TVM FFI."""
