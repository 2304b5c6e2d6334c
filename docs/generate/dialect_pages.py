"""Pages of the dialects: operations, types and attributes, read from the op tables."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from relax_mlir.dialects.relax import Relax
from relax_mlir.dialects.relax.op_names import ALIASES, script_name
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, REQUIRED, Param
from relax_mlir.dialects.schedule import OPERATIONS
from relax_mlir.dialects.schedule import Schedule as ScheduleDialect
from relax_mlir.dialects.tir import Tir
from relax_mlir.dialects.vm import Vm
from relax_mlir.tir import Schedule

_OPERANDS = {"tensor": "tensor", "tensors": "tuple of tensors", "shape": "shape"}


def pages() -> dict[str, str]:
    """Return path -> Markdown of one page for each dialect."""
    return {
        "dialects/relax.md": _page(Relax, by_module=True),
        "dialects/tir.md": _page(Tir),
        "dialects/vm.md": _page(Vm),
        "dialects/schedule.md": _schedule(),
    }


def _page(dialect: Any, *, by_module: bool = False) -> str:
    name = dialect.DIALECT_NAMESPACE
    lines = [f"# The {name} dialect", "", _doc(dialect), ""]
    for base, title, prefix in (
        (dialect.Type, "Types", "!"),
        (dialect.Attribute, "Attributes", "#"),
    ):
        for index, cls in enumerate(_named(base)):
            lines += [f"## {title}", ""] if index == 0 else []
            lines += [f"### `{prefix}{cls.type_name if prefix == '!' else cls.attr_name}`", ""]
            lines += [_doc(cls), ""]
    groups: dict[str, list[Any]] = {}
    for cls in sorted(_named(dialect.Operation), key=lambda cls: cls.OPERATION_NAME):
        module = cls.__module__.rpartition(".")[2]
        groups.setdefault(module if by_module else "ops", []).append(cls)
    for module, classes in sorted(groups.items()):
        if by_module:
            text = importlib.import_module(classes[0].__module__).__doc__ or ""
            lines += [f"## Operations: {module}", "", text.splitlines()[0], ""]
        else:
            lines += ["## Operations", ""]
        for cls in classes:
            lines += _operation(cls)
    return "\n".join(lines)


def _operation(cls: Any) -> list[str]:
    name = cls.OPERATION_NAME
    lines = [f"### `{name}`", "", _doc(cls), ""]
    op = name.partition(".")[2]
    if COMPUTE_OPS.get(op) is cls:
        spellings = [f"R.{script_name(op)}"]
        spellings += [
            f"R.{alias}"
            for alias, meant in ALIASES.items()
            if meant == op and alias != script_name(op)
        ]
        lines += [f"In script: {', '.join(f'`{s}`' for s in dict.fromkeys(spellings))}."]
        lines += [] if cls.PURE else ["", "It has an effect and stands outside dataflow blocks."]
        lines += ["", "| parameter | kind | default |", "| --- | --- | --- |"]
        lines += [_parameter(param) for param in cls.PARAMS]
        return [*lines, ""]
    fields = _fields(cls)
    if fields:
        lines += ["| field | kind |", "| --- | --- |"]
        lines += [f"| `{field}` | {kind} |" for field, kind in fields]
        lines += [""]
    return lines


def _parameter(param: Param) -> str:
    kind = _OPERANDS.get(param.kind)
    what = f"operand, {kind}" if kind else f"attribute, `{param.kind}`"
    default = "required" if param.default is REQUIRED else f"`{param.default!r}`"
    return f"| `{param.name}` | {what} | {default} |"


def _fields(cls: Any) -> list[tuple[str, str]]:
    """Return the fields that an operation's class declares: name and kind."""
    fields = []
    for name, annotation in inspect.get_annotations(cls).items():
        text = str(annotation)
        if "Region" in text:
            kind = "region"
        elif "OpResult" in text:
            kind = "results" if "Sequence" in text else "result"
        elif "Value[" in text:
            kind = "operands" if "Sequence" in text else "operand"
        else:
            of = getattr(annotation, "__name__", "Any")
            kind = "attribute" if of == "Any" else f"attribute, `{of}`"
        fields.append((name.rstrip("_"), kind))
    return fields


def _schedule() -> str:
    lines = ["# The schedule dialect", "", _doc(ScheduleDialect), ""]
    lines += [
        "An operation takes transform handles for random variables, and attributes for the rest."
    ]
    lines += ["", "| operation | primitive |", "| --- | --- |"]
    for name in sorted(OPERATIONS):
        method = getattr(Schedule, name, None)
        summary = (inspect.getdoc(method) or "").partition("\n")[0].replace("|", "\\|")
        lines.append(f"| `schedule.{name}` | {summary} |")
    return "\n".join([*lines, ""])


def _named(base: Any) -> Iterator[Any]:
    """Yield the subclasses of a base that have a name in the IR."""
    for cls in base.__subclasses__():
        if any(key in vars(cls) for key in ("OPERATION_NAME", "type_name", "attr_name")):
            yield cls
        yield from _named(cls)


def _doc(cls: Any) -> str:
    return inspect.cleandoc(cls.__doc__ or "")
