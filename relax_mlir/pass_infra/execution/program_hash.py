"""Hashes of modules, to detect whether a pass changed the program."""

import hashlib

from relax_mlir.dialects.bindings import ir


def fingerprint(module: "ir.Module | ir.Operation") -> str:
    """Return a hash of operations, types and attributes; locations and value names do not count.

    Big constants count by their identity, which no pass changes: their numbers are not read.
    """
    # The scope is the operation's own: else MLIR numbers the whole module for each function of it.
    text = module.operation.get_asm(
        print_generic_op_form=True,
        assume_verified=True,
        large_resource_limit=0,
        binary=True,
        use_local_scope=True,
    )
    return hashlib.blake2b(text, digest_size=16).hexdigest()
