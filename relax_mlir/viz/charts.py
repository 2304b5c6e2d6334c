"""Charts of bars over time: profiles, and memory plans."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.errors import ExprTypeError
from relax_mlir.runtime.profiling.profile import Report
from relax_mlir.viz.picture import Picture

_WIDTH, _ROW, _LETTER = 960.0, 20.0, 6.5
_KINDS = {"native": "#f4a582", "bytecode": "#92c5de", "builtin": "#d9d9d9", "packed": "#b8e186"}
_STORAGE, _TENSOR = "vm.alloc_storage", "vm.alloc_tensor"


@dataclass(frozen=True)
class _Bar:
    start: float
    end: float
    row: int
    label: str
    tip: str
    colour: str


def flame_chart(report: Report) -> Picture:
    """Return the calls of a profile over time, those inside a call below it.

    Args:
        report: what `VirtualMachine.profile` gave.
    """
    bars: list[_Bar] = []
    open_until: list[float] = []
    for call in sorted(report.calls, key=lambda each: (each.start, -each.seconds)):
        while open_until and open_until[-1] <= call.start:
            open_until.pop()
        end = call.start + call.seconds
        tip = f"{call.name}: {1e6 * call.seconds:.1f} us, {call.kind} {call.args}"
        colour = _KINDS.get(call.kind, "white")
        bars.append(_Bar(call.start, end, len(open_until), call.name, tip, colour))
        open_until.append(end)
    total = max((bar.end for bar in bars), default=0.0)
    title = f"{report.function}: {1e6 * total:.0f} us, {len(bars)} calls"
    return Picture(title, _chart(title, bars, total))


def memory_plan(program: Any) -> Picture:
    """Return what lies in each storage, from where it is made to where it is last used.

    Args:
        program: a module after the stage VMMemoryLower (`compiler.pipeline.lower`), whose tensors
            have storage.

    Raises:
        ExprTypeError: the module has no storage.
    """
    module = program.mlir_module
    bars: list[_Bar] = []
    row, total = 0, 0
    with module.context:
        for view in module.body.operations:
            if "relax.function" in view.operation.attributes and view.operation.regions[0].blocks:
                block = view.operation.regions[0].blocks[0]
                new_bars, rows, steps = _tensors(list(block.operations), row)
                bars, row, total = bars + new_bars, row + rows, max(total, steps)
    if not bars:
        raise ExprTypeError(
            "the module has no storage: take it after the stage VMMemoryLower, "
            "relax_mlir.compiler.pipeline.lower(mod, 'VMMemoryLower')"
        )
    title = f"{len(bars)} tensors in {row} storages, over {total} bindings"
    return Picture(title, _chart(title, bars, float(total)))


def _tensors(views: Sequence[Any], row: int) -> tuple[list[_Bar], int, int]:
    """Return a bar for each tensor of a block, how many storages they are in, and the bindings."""
    place = {view.operation: i for i, view in enumerate(views)}
    rows: dict[Any, int] = {}
    bars = []
    for i, view in enumerate(views):
        op = view.operation
        if op.name == _STORAGE:
            rows[op.results[0]] = row + len(rows)
        elif op.name == _TENSOR and op.operands[0] in rows:
            last = max((_step(use.owner, place) for use in op.results[0].uses), default=i)
            name = _tensor(op.results[0].type)
            tip = f"{name}, bindings {i} to {last}"
            at = rows[op.operands[0]]
            bars.append(_Bar(i, last + 1, at, name, tip, "#92c5de"))
    return bars, len(rows), len(views)


def _tensor(type_: ir.Type) -> str:
    dims = T.tensor_dims(type_)
    shape = "?" if dims is None else f"({', '.join(map(str, dims))})"
    return f"{shape} {T.tensor_dtype(type_) or '?'}"


def _step(owner: Any, place: dict[ir.Operation, int]) -> int:
    op = owner.operation
    while op not in place:
        op = op.parent.operation
    return place[op]


def _chart(title: str, bars: Iterable[_Bar], total: float) -> str:
    bars = list(bars)
    scale = _WIDTH / (total or 1.0)
    height = _ROW * (max((bar.row for bar in bars), default=-1) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:.0f}" height="{height:.0f}" '
        'font-family="monospace" font-size="11">',
        f'<text x="0" y="14">{html.escape(title)}</text>',
    ]
    for bar in bars:
        x, width = bar.start * scale, max(0.5, (bar.end - bar.start) * scale)
        y = _ROW * (bar.row + 1)
        fits = int(width / _LETTER) - 1
        label = bar.label if len(bar.label) <= fits else bar.label[: max(0, fits)]
        parts.append(
            f'<g class="bar"><title>{html.escape(bar.tip)}</title><rect x="{x:.2f}" y="{y:.0f}" '
            f'width="{width:.2f}" height="{_ROW - 2:.0f}" fill="{bar.colour}" stroke="white"/>'
            f'<text x="{x + 2:.2f}" y="{y + 13:.0f}">{html.escape(label)}</text></g>'
        )
    return "\n".join([*parts, "</svg>"])
