"""Unlikely branches: branch weights that move their code out of the hot path."""

from collections.abc import Mapping

from relax_mlir.dialects.bindings import ir
from relax_mlir.lowering.tir_to_llvm.math.lane_math import EXPECT

# How often each successor of a branch follows, to the other one.
_WEIGHTS = (1, 2000)


def weigh_branches(by_name: Mapping[str, list[ir.Operation]]) -> None:
    """Tell branches on conditions that seldom hold from others.

    LLVM takes both sides of a branch for about as frequent, and would keep constants of the one in
    registers that the loop around it needs.

    Args:
        by_name: the operations of a module in the LLVM dialect, rewritten in place.
    """
    for expect in by_name.get(EXPECT, ()):
        for use in expect.results[0].uses:
            branch = use.owner.operation
            if branch.name == "llvm.cond_br":
                with branch.context:
                    branch.attributes["branch_weights"] = ir.DenseI32ArrayAttr.get(_WEIGHTS)
        expect.results[0].replace_all_uses_with(expect.operands[0])
        expect.erase()
