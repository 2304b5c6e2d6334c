"""What programs use around compilation: `support.utils`, under TVM's names."""
