"""The layers of the project, from the bottom, and how modules look."""

import ast
import functools
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator

from checkout import FOLDERS, ROOT

# From the bottom; what is in one row stands side by side. A module imports what is below it and
# what is in its own package, whether at its top, in a function or for type checking only.
LAYERS = (
    ("errors", "interpreter"),
    ("extension_points", "atomic_file", "chrome_trace", "lazy",
     "philox", "resampling", "text_table", "tvm_modules"),
    ("dialects.bindings",),
    ("dialects.buffer_writes", "dialects.context_lock", "dialects.context_memory",
     "dialects.definitions", "dialects.locations", "dialects.verify"),
    ("dialects.symbolic",),
    ("dialects.relax", "dialects.schedule"),
    ("dialects.tir", "dialects.vm"),
    ("dialects.context",),
    ("dialects.irdl",),
    ("lowering.c_library", "lowering.pass_spec", "lowering.walk", "lowering.target"),
    ("lowering.interop", "lowering.tir_to_llvm", "lowering.relax_to_vm"),
    ("lowering.tir_to_vector",),
    ("lowering.codegen", "lowering.relax_to_tir", "runtime"),
    ("ir",),
    ("arith", "script"),
    ("pass_infra",),
    ("tir",),
    ("te",),
    ("topi",),
    ("relax",),
    ("transform",),
    ("compiler",),
    ("instrument", "frontend", "contrib", "nd", "support", "target", "viz",
     "error", "s_tir", "tirx"),
    ("testing",),
    ("tools",),
)  # fmt: skip
# Reached by a name only: packages whose modules are imported from elsewhere.
ROOTS = ("relax_mlir", "relax_mlir.__main__", "relax_mlir.dialects", "relax_mlir.lowering")
# A machine that runs compiled models has these, and the layer without ours.
RUNTIME_NEEDS = {"numpy", "llvmlite", "tvm_ffi", "ml_dtypes"}
RUNTIME_BELOW = ("errors", "extension_points", "atomic_file", "chrome_trace", "interpreter",
                 "lazy", "philox", "resampling", "text_table")  # fmt: skip
BINDINGS = "relax_mlir.dialects.bindings"

HEIGHT = {f"relax_mlir.{name}": i for i, row in enumerate(LAYERS) for name in row}
FILES = {
    ".".join([package, *(part for part in parts if part != "__init__")]): file
    for folder, package in FOLDERS.items()
    for file in sorted((ROOT / folder).rglob("*.py"))
    for parts in [file.relative_to(ROOT / folder).with_suffix("").parts]
}


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of everything that is imported, late imports included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield node.lineno, "." if node.level else full if full in FILES else node.module


# Not at import: each process that collects tests would parse all modules. No syntax trees: garbage
# collection would look at them in all later tests.
@functools.cache
def all_modules() -> dict[str, tuple[str | None, list[tuple[int, str]]]]:
    """Return the docstring of each module, and what it imports, see `imports`."""
    trees = ((name, ast.parse(file.read_text())) for name, file in FILES.items())
    return {name: (ast.get_docstring(tree), list(imports(tree))) for name, tree in trees}


def all_imports() -> dict[str, list[tuple[int, str]]]:
    """Return what each module imports."""
    return {name: found for name, (_, found) in all_modules().items()}


@functools.cache
def module_graph() -> dict[str, list[str]]:
    """Return which of our modules each imports."""
    return {
        name: [m for _, m in found if m in FILES and m != name]
        for name, found in all_imports().items()
    }


def package(name: str) -> str:
    """Return which name of the table a module belongs to."""
    parts = name.split(".")
    return next((p for i in (2, 3) if (p := ".".join(parts[:i])) in HEIGHT), name)


def test_modules_import_from_layers_below() -> None:
    wrong = []
    for name, found in module_graph().items():
        for target in found:
            here, there = package(name), package(target)
            if {name, target} & {*ROOTS} or here == there:
                continue
            if HEIGHT[there] >= HEIGHT[here]:
                wrong.append(f"{name} imports {target}: {there} is not below {here}")
    assert not wrong, "\n".join(wrong)


def test_no_cycle_of_modules() -> None:
    graphlib.TopologicalSorter(module_graph()).prepare()


def test_what_is_imported_from_where() -> None:
    wrong = []
    for name, found in all_imports().items():
        runtime = package(name) == "relax_mlir.runtime"
        for line, target in found:
            first = target.partition(".")[0]
            where = f"{FILES[name].relative_to(ROOT)}:{line}: imports {target}"
            if (
                first in ("", "dialects", "lowering", "torch_mlir", "mlir")
                or target == "relax_mlir"
            ):
                wrong.append(f"{where}: name the module by its full name, MLIR as {BINDINGS}")
            elif target in FILES and runtime:
                if package(target) not in (f"relax_mlir.{n}" for n in ("runtime", *RUNTIME_BELOW)):
                    wrong.append(f"{where}: of the compiler")
            elif runtime and first not in RUNTIME_NEEDS and first not in sys.stdlib_module_names:
                wrong.append(f"{where}: not among {sorted(RUNTIME_NEEDS)}")
            elif target == "__future__" and name.startswith("relax_mlir.dialects"):
                wrong.append(f"{where}: fields of operations are read from annotations")
    for folder in ("test", "examples", "benchmarks"):
        for file in (ROOT / folder).rglob("*.py"):
            if re.search(r"(?m)^\s*(from|import) (dialects|lowering)\b", file.read_text()):
                wrong.append(f"{file}: a second copy of every class")
    assert not wrong, "\n".join(wrong)


def test_modules_have_a_docstring_and_an_end() -> None:
    for name, (docstring, _) in all_modules().items():
        text = FILES[name].read_text()
        assert docstring, f"{name}: the first line says what the module is"
        assert text.count("\n") <= 500, f"{name}: split it by category"
        assert name == BINDINGS or "torch_mlir" not in text, f"{name}: take it from {BINDINGS}"


def test_import_loads_no_mlir() -> None:
    script = "import sys, relax_mlir; print(*{'torch_mlir', 'mlir', 'llvmlite'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not done.stdout.strip()
