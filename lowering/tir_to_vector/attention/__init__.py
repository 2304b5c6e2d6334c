"""Attention: recognised in its products and softmax, and computed by one kernel."""
