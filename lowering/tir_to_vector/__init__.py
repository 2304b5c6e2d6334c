"""From the tir dialect to loops, memory and vectors of the upstream dialects (decision 8)."""
