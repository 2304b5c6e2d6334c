"""Programs as text: before and after a pass, and the loops of prim funcs."""

import difflib
import html
from collections.abc import Iterator
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.expr.functions import BaseFunc
from relax_mlir.tir.view import tree
from relax_mlir.tir.view.statements import Block, For
from relax_mlir.viz.picture import Picture

_COLOURS = {"-": "#fdd", "+": "#dfd"}
_KINDS = {"parallel": "#b8e186", "vectorized": "#92c5de", "unrolled": "#fdb863"}


def diff(before: Any, after: Any, *, context: int | None = None) -> Picture:
    """Return two programs line by line: removed lines in red, added ones in green.

    Args:
        before: what has a `script()`: a module, a function, a schedule's `mod`; or text.
        after: the same.
        context: how many unchanged lines to show around a change; all by default.

    Raises:
        ExprTypeError: one of them is no program.
    """
    old, new = _lines(before), _lines(after)
    shown = max(len(old), len(new)) if context is None else context
    rows = []
    for line in difflib.unified_diff(old, new, n=shown, lineterm=""):
        if line.startswith(("---", "+++")):
            continue
        colour = _COLOURS.get(line[:1], "none" if line[:1] != "@" else "#eee")
        rows.append(f'<div style="background:{colour}">{html.escape(line) or "&nbsp;"}</div>')
    if not rows:
        rows = [f"<div> {html.escape(line)}</div>" for line in (old if context is None else [])]
    return Picture("before and after", f'<pre class="diff">{"".join(rows)}</pre>')


def _lines(program: Any) -> list[str]:
    if isinstance(program, str):
        return program.splitlines()
    if not hasattr(program, "script"):
        raise ExprTypeError(f"expected a program or text, got {type(program).__name__}")
    return program.script().splitlines()


def loop_tree(program: Any) -> Picture:
    """Return the loops and blocks of prim funcs as a tree, kinds of loops by colour.

    Args:
        program: a schedule, a module with prim funcs, or a prim func.

    Raises:
        ExprTypeError: it is none of them.
    """
    is_function = isinstance(program, BaseFunc)
    mod = IRModule.from_expr(program) if is_function else getattr(program, "mod", program)
    if not hasattr(mod, "mlir_module"):
        raise ExprTypeError(f"expected a schedule or an IRModule, got {type(program).__name__}")
    items = []
    with mod.mlir_module.context:
        for view in mod.mlir_module.body.operations:
            op = view.operation
            if "tir.prim_func" in op.attributes and op.regions[0].blocks:
                name = ir.StringAttr(op.attributes["sym_name"]).value
                items.append(_item(f"<b>{html.escape(name)}</b>", op))
    return Picture("loops", f'<ul class="loops">{"".join(items)}</ul>')


def _item(label: str, op: ir.Operation) -> str:
    inner = "".join(_children(op))
    if not inner:
        return f"<li>{label}</li>"
    return f'<li><details open=""><summary>{label}</summary><ul>{inner}</ul></details></li>'


def _children(op: ir.Operation) -> Iterator[str]:
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                inner = view.operation
                if inner.name == tree.LOOP:
                    yield _item(_loop(For(inner)), inner)
                elif inner.name == tree.BLOCK:
                    yield _item(_block(Block(inner)), inner)
                else:
                    yield from _children(inner)


def _loop(loop: For) -> str:
    colour = _KINDS.get(loop.kind, "none")
    notes = "".join(f", {key}={value}" for key, value in loop.annotations.items())
    text = html.escape(f"{loop.loop_var} in {loop.extent}{notes}")
    kind = "" if loop.kind == "serial" else f" {loop.kind}"
    return f'for <span style="background:{colour}">{text}{kind}</span>'


def _block(block: Block) -> str:
    iters = ", ".join(f"{each.name}: {each.iter_type} {each.extent}" for each in block.iter_vars)
    return f"block <i>{html.escape(block.name_hint)}</i>({html.escape(iters)})"
