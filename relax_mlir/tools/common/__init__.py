"""What the tools share: command lines, input and output, errors."""
