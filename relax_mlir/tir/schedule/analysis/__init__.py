"""What the legality of schedule primitives rests on: scopes, domains, regions, reducers."""
