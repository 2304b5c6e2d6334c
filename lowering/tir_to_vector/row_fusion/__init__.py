"""Row fusion: several nests for each row, so that a row is in cache from one to the next."""
