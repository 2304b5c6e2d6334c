"""Convolutions by many output channels: the image as it lies or copied, kernels in blocks."""
