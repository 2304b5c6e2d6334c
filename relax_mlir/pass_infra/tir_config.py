"""PassContext config options for passes over prim funcs."""

from dataclasses import dataclass

UNROLL_LOOP = "tir.UnrollLoop"
LOOP_PARTITION = "tir.LoopPartition"
HOIST_IF_THEN_ELSE = "tir.HoistIfThenElse"
DISABLE_VECTORIZE = "tir.disable_vectorize"


@dataclass(frozen=True)
class UnrollLoopConfig:
    """When serial loops are unrolled too.

    Attributes:
        auto_max_step: a loop goes when it and what it contains store at most this often.
        auto_max_depth: how many nested loops may go.
        auto_max_extent: a loop of at most so many steps goes in any case.
        explicit_unroll: whether loops are replaced; else their kind becomes `unrolled`.
    """

    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0
    explicit_unroll: bool = True


@dataclass(frozen=True)
class LoopPartitionConfig:
    """Which loops conditions shorten.

    Attributes:
        partition_const_loop: also loops of known extent.
    """

    partition_const_loop: bool = False


@dataclass(frozen=True)
class HoistIfThenElseConfig:
    """Which conditions leave loops.

    Attributes:
        support_block_scope_hosting: also those that are not a loop's only statement.
    """

    support_block_scope_hosting: bool = False
