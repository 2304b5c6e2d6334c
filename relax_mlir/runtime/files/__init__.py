"""Files: executables, constants, parameters, libraries."""
