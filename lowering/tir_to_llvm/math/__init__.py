"""Elementary functions as short sequences that vectorise."""
