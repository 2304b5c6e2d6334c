"""Annotations of loops and blocks: a dictionary of attribute values."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.tir.schedule.attributes import attribute
from relax_mlir.tir.schedule.base import ScheduleBase, primitive
from relax_mlir.tir.schedule.handles import BlockRV, LoopRV
from relax_mlir.tir.schedule.primitives.checks import ANNOTATIONS
from relax_mlir.tir.schedule.state import ScheduleState
from relax_mlir.tir.view import tree


def annotate(state: ScheduleState, op: ir.Operation, key: str, value: Any) -> None:
    """Add an annotation to a loop or a block, in place of one of the same name."""
    annotations = _of(op)
    annotations[key] = attribute(value)
    op.attributes[ANNOTATIONS] = ir.DictAttr.get(annotations)


def unannotate(state: ScheduleState, op: ir.Operation, key: str) -> None:
    """Remove an annotation from a loop or a block."""
    annotations = _of(op)
    if key not in annotations:
        raise state.error(f"{tree.describe(op)} has no annotation '{key}'", op)
    del annotations[key]
    if annotations:
        op.attributes[ANNOTATIONS] = ir.DictAttr.get(annotations)
    else:
        del op.attributes[ANNOTATIONS]


def _of(op: ir.Operation) -> dict[str, ir.Attribute]:
    if ANNOTATIONS not in op.attributes:
        return {}
    return {item.name: item.attr for item in ir.DictAttr(op.attributes[ANNOTATIONS])}


class AnnotationPrimitives(ScheduleBase):
    """Annotations of loops and blocks."""

    @primitive("Annotate", inputs=("block_or_loop",))
    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Any) -> None:
        """Note a value on a block or a loop, which scripts show as its annotations.

        Args:
            block_or_loop: what it is noted on.
            ann_key: its name.
            ann_val: a string, a number, an `ExprRV`, or a list or dictionary of such.

        Raises:
            ScheduleError: it has an annotation of the name already.
            TypeError: a value that annotations cannot have.
        """
        value = self._plain_value(ann_val)
        annotate(self._state, self._op(block_or_loop), ann_key, value)

    @primitive("Unannotate", inputs=("block_or_loop",))
    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Remove an annotation.

        Raises:
            ScheduleError: there is none of the name.
        """
        unannotate(self._state, self._op(block_or_loop), ann_key)

    def _plain_value(self, value: Any) -> Any:
        if isinstance(value, PrimExpr):
            return self._number(value).value
        if isinstance(value, (list, tuple)):
            return [self._plain_value(each) for each in value]
        if isinstance(value, dict):
            return {key: self._plain_value(each) for key, each in value.items()}
        return value
