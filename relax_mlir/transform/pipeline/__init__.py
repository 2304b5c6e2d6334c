"""Pass pipelines as text: the tree of passes, and the options of each."""
