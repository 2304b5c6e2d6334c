"""Elementary functions as branch-free sequences that vectorize."""
