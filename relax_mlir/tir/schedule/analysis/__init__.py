"""Legality analyses of schedule primitives: scopes, domains, regions, reducers."""
