"""Type stubs of `R` and `T`: the forms of the languages, then the functions of their tables."""

import ast
from pathlib import Path

from packages import MADE

from relax_mlir import tir
from relax_mlir.relax import op
from relax_mlir.script.tir_parser.expr import intrinsics as tir_intrinsics
from relax_mlir.script.tir_parser.expr import tables as tir_tables

FOLDER = Path(__file__).parent
DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64",
)  # fmt: skip
LANES = (2, 4, 8, 16, 32, 64)
# Without vectors: bfloat16 and the short names.
OTHERS = (
    "bfloat16", "bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
)  # fmt: skip


def _forms(name: str) -> tuple[str, str, set[str]]:
    """Return the docstring and the forms of a language as written by hand, and their names."""
    text = (FOLDER / f"{name}_forms.pyi").read_text()
    names = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    doc, _, rest = text.partition("\n")
    return f"{doc}\n\n{MADE}\n", rest, names | {"inline", "macro"}


def relax() -> str:
    """Return the stub of `R`."""
    doc, forms, names = _forms("relax")
    operations = {name for name in dir(op) if name not in names}
    imports = f"from relax_mlir.relax.op import {', '.join(sorted(operations))}\n"
    return f"{doc}{imports}{forms}\n__all__ = {sorted(names | operations)}\n"


def tensor_ir() -> str:
    """Return the stub of `T`."""
    doc, forms, names = _forms("tir")
    functions = {*tir_tables.UNARY, *tir_tables.BINARY, *tir_intrinsics.INTRINSICS} - names
    shared = {name for name in functions if hasattr(tir, name)}
    lines = [f"{doc}from relax_mlir.tir import {', '.join(sorted(shared))}", forms]
    for name in sorted(functions - shared):
        lines.append(
            f"def {name}({'x' if name in tir_tables.UNARY else '*args'}: Any) -> PrimExpr: ..."
        )
    dtypes = [*OTHERS, *DTYPES, *(f"{name}x{lanes}" for name in DTYPES for lanes in LANES)]
    lines += [f"class {name}(_Number): ..." for name in dtypes]
    lines.append(f"__all__ = {sorted({*names, *functions, *dtypes})}")
    return "\n".join(lines) + "\n"


def files() -> dict[Path, str]:
    """Return the text of both stubs by their paths in the checkout."""
    folder = Path("relax_mlir/script")
    return {folder / "relax.pyi": relax(), folder / "tir.pyi": tensor_ir()}
