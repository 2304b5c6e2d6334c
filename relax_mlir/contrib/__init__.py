"""Names where TVM's users look for them."""
