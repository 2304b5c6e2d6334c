"""Depthwise convolution and pooling in NCHW and NHWC."""
