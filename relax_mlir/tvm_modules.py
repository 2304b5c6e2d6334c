"""Module names of TVM that are elsewhere here, or unsupported, as an import finder."""

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # It imports temporary files and resources, which takes longer than all of this package.
    from importlib.abc import Loader
else:
    Loader = object

_ROOT = "relax_mlir."
# A module's parts are found with it: relax_mlir.tirx.transform is relax_mlir.tir.transform.
ALIASES = {
    "ir.base": "ir",
    "ir.expr": "ir",
    "error": "errors",
    "ir.instrument": "instrument",
    "ir.transform": "transform",
    "relax.base_py_module": "compiler.base_py_module",
    "relax.block_builder": "relax.builder.block_builder",
    "relax.exec_builder": "runtime.exec_builder",
    "relax.frontend": "frontend",
    "relax.pipeline": "compiler.relax_pipelines",
    "tir.function": "relax.expr.functions",
    "tirx.function": "relax.expr.functions",
    "relax.binding_rewrite": "relax.expr_functor",
    "relax.struct_info": "relax.expr",
    "relax.transform": "transform",
    "relax.ty": "relax.expr",
    "relax.type": "relax.expr",
    "relax.vm_build": "compiler.vm_build",
    "relax.transform.transform": "transform",
    "s_tir": "tir",
    "script.ir_builder": "relax.ir_builder",
    "script.parser.ir": "script.ir",
    "script.parser.relax": "script.relax",
    "script.parser.tir": "script.tir",
    "script.parser.tirx": "script.tir",
    "script.s_tir": "script.tir",
    "script.tirx": "script.tir",
    "tirx": "tir",
}


def resolve_alias(name: str) -> str:
    """Return what a module of TVM's is called here, "" for one that has the same place."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        result = ALIASES.get(".".join(parts[:count]))
        if result is not None:
            return ".".join([result, *parts[count:]])
    return ""


def submodule(package: str, name: str) -> ModuleType:
    """Return a module of a package, imported now: the package's `__getattr__`.

    Raises:
        AttributeError: it has no such module.
    """
    full = f"{package}.{name}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        raise AttributeError(f"module '{package}' has no attribute '{name}'") from None


class _Finder(Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_ROOT):
            return None
        package, _, name = fullname.rpartition(".")
        reason = vars(sys.modules.get(package, sys)).get("_UNSUPPORTED", {}).get(name)
        if reason is not None:
            raise ImportError(f"{package} has no '{name}': {reason}", name=fullname)
        return ModuleSpec(fullname, self) if resolve_alias(fullname.removeprefix(_ROOT)) else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None: the module is made as usual."""

    def exec_module(self, module: ModuleType) -> None:
        # What stands here when this ends is what the import gives.
        target = importlib.import_module(_ROOT + resolve_alias(module.__name__.removeprefix(_ROOT)))
        sys.modules[module.__name__] = target


def take_place(name: str) -> None:
    """Put what a module of TVM's is called here into the place of the module, and of its parts."""
    install()
    sys.modules[name] = importlib.import_module(_ROOT + resolve_alias(name.removeprefix(_ROOT)))


def install() -> None:
    """Let imports find these modules: for packages that have some, when they are imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # First: a package under another name still has the folder of its modules, in which they
        # would be found again, as second copies.
        sys.meta_path.insert(0, _Finder())
