"""Passes as text: options, pipelines, reproducers."""
