"""Convolutions by kernels of 3 x 3, Winograd's way."""
