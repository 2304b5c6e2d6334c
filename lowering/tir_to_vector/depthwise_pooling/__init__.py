"""Windows over planes and over channels that lie side by side, and the padding around them."""
