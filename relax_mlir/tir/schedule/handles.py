"""Random variables of a schedule: what its primitives take and give."""

from relax_mlir.tir.prim_expr import Leaf


class RandomVariable:
    """Names something of the program that a schedule works on; two are the same only as objects."""

    __slots__ = ()


class BlockRV(RandomVariable):
    """A random variable that stands for a block."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"BlockRV({hex(id(self))})"


class LoopRV(RandomVariable):
    """A random variable that stands for a loop."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"LoopRV({hex(id(self))})"


class ExprRV(Leaf):
    """A random variable that stands for an integer, with Python's operators.

    `sch.split(loop, factors=[None, v * 2])` keeps the product in the trace.
    """

    __slots__ = ()

    def __init__(self, name: str = "v") -> None:
        super().__init__(name, "int32")


SBlockRV = BlockRV
# The letters that their names in traces begin with.
VARIABLES = {"b": BlockRV, "l": LoopRV, "v": ExprRV}
