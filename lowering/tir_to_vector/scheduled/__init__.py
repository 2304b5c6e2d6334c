"""Programs whose loops somebody scheduled: run in the order and in the way that was asked for."""
