"""relax-compile: a program to a saved executable, and reports of its kernels."""
