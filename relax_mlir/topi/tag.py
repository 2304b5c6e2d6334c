"""TVM's operator tags; lowering matches blocks instead."""

ELEMWISE, BROADCAST, INJECTIVE = "elemwise", "broadcast", "injective"
COMM_REDUCE, COMM_REDUCE_IDX = "comm_reduce", "comm_reduce_idx"


def is_broadcast(tag: str) -> bool:
    """Whether a tag is one of operators that broadcast, elementwise ones among them."""
    return tag in (ELEMWISE, BROADCAST)


def is_injective(tag: str) -> bool:
    """Whether a tag is one of operators that read one element for each."""
    return tag in (ELEMWISE, BROADCAST, INJECTIVE)
