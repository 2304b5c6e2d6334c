"""What code is made for: a target, the CPU it names, and what the lowering needs to know of it."""
