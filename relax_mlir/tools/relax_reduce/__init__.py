"""relax-reduce: a smaller module for which a test command still fails."""
