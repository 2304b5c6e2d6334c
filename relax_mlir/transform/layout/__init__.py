"""Layouts of images and weights, and scales folded into weights."""
