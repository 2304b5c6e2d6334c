"""relax-run: run a compiled model, time it, profile it."""
