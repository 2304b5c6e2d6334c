"""The compiler: from a module through the pipeline of passes to an Executable."""
