"""TVMScript: parser and printer.

A script begins with `from relax_mlir.script import ir as I, relax as R, tir as T`. MLIR is loaded
when the first script is parsed.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from relax_mlir.script.files import load_script, save_script
from relax_mlir.script.ir import ir_module
from relax_mlir.tvm_modules import install, submodule

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule

__all__ = [
    "from_source", "ir_module", "load_script", "parse_module", "save_script", "script",
    "script_with_metadata",
]  # fmt: skip


install()
__getattr__ = partial(submodule, __name__)


def from_source(
    text: str, extra_vars: Mapping[str, Any] | None = None, filename: str = "<str>"
) -> "IRModule":
    """Parse the text of a script without executing it.

    The text holds one `ir_module` class, or one or more decorated functions; its imports only name
    the namespaces (`from tvm.script import relax as R`).

    Args:
        text: the script.
        extra_vars: Python values that the script refers to by name, such as arrays of weights.
        filename: what errors and locations call the text.

    Raises:
        ScriptError: the text is wrong; the message underlines where.
    """
    from relax_mlir.script.parser.module import parse_text

    return parse_text(text, dict(extra_vars or {}), filename)


parse_module = from_source


def script(module: "IRModule", **options: Any) -> str:
    """Return a module as TVMScript that parses back to the same module, large constants aside.

    Constants of more than 64 elements appear as `metadata["relax.expr.Constant"][i]`; see
    `script_with_metadata` and `save_script`.

    Args:
        module: the module, or a function.
        options: as for `IRModule.script`.
    """
    return script_with_metadata(module, **options)[0]


def script_with_metadata(module: "IRModule", **options: Any) -> tuple[str, dict[str, list[Any]]]:
    """Return a module as TVMScript and its large constants.

    `from_source(text, extra_vars={"metadata": constants})` gives the same module again.

    Args:
        module: the module, or a function.
        options: as for `IRModule.script`.
    """
    from relax_mlir.ir.module import module_of
    from relax_mlir.script.printer.module import print_module
    from relax_mlir.script.printer.options import PrintOptions

    return print_module(module_of(module), PrintOptions(**options))
