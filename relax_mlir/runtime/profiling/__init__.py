"""How long kernels take, what they compute and move, and what the machine can do."""
