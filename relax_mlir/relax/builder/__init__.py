"""The parts of `relax.BlockBuilder`."""
