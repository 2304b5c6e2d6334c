"""Settings that hold for every pytest."""

import os

from hypothesis import settings

# A busy machine is no failure, and the same run finds the same counterexamples.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
# What a test compiles is compiled, and the user's folder stays as it is.
os.environ.setdefault("RELAX_MLIR_CACHE", "off")
# Tests run side by side; those of threads ask for them.
os.environ.setdefault("RELAX_MLIR_NUM_THREADS", "1")
