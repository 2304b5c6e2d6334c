"""Direct convolution: the image in place or packed, weights in blocks of channels."""
