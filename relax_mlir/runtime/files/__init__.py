"""What is read from files and written to them: executables, constants, parameters, libraries."""
