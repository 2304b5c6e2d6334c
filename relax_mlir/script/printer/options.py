"""What a script is printed with."""

from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from typing import Any

from relax_mlir.errors import ExprTypeError

# Options of TVM's printer that are met as they are: type parameters are not printed.
_MET = {"script.use_pep695": False, "relax.use_pep695": False}


@dataclass(frozen=True)
class PrintOptions:
    """Options of `IRModule.script`.

    Attributes:
        show_all_ty: whether variables have annotations that a reader would infer.
        module_alias: what functions call their module, `""` for the name of its class.
        verbose_expr: whether free variables are declared; functions and modules have none.
        extra_config: options of TVM's printer by name; only those that change nothing here.
    """

    show_all_ty: bool = True
    module_alias: str = "cls"
    verbose_expr: bool = False
    extra_config: InitVar[Mapping[str, Any] | None] = None

    def __post_init__(self, extra_config: Mapping[str, Any] | None) -> None:
        for key, value in (extra_config or {}).items():
            if key not in _MET or value is not _MET[key]:
                raise ExprTypeError(f"scripts are not printed with {key}={value!r}")

    @property
    def module(self) -> str:
        """What stands before the name of a function of the module."""
        return self.module_alias or "Module"
