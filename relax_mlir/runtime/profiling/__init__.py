"""Profiling: times of kernels, their operations and bytes, the machine's roofline."""
