"""The graph executor: a static function as a list of calls, with memory planned once."""
