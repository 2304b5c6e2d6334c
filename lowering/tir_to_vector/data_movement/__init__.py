"""Maps that read in another order or at other places than they write."""
