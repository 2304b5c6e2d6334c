"""The virtual machine: calls with their arguments, kept state, instruments."""
