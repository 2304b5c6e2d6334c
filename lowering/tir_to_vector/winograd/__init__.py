"""Winograd convolution: weights of 3 x 3."""
