"""The graph executor: a static function as a list of calls on memory planned once."""
