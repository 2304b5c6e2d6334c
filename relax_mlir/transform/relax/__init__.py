"""Passes from Relax to Relax: simplification, types, constants, legalization."""
