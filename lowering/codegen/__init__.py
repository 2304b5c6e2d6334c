"""LLVM dialect to native objects: targets, the calling convention, LLVM itself."""
