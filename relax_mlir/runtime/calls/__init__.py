"""Calls of native functions without an FFI object for each array."""
