"""The bytecode: its instructions and builtins, and Python functions made of it."""
