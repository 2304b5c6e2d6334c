"""Reductions and scans: across, along, strided, variadic, split, fused with a producer."""
