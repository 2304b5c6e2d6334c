"""From Relax functions to the VM dialect: the four lowering passes of the compile flow."""
