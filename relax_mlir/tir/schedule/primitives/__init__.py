"""The primitives of schedules: each module has the algorithm and the methods of `Schedule`."""
