"""Devices, their memory, and copies between them."""
