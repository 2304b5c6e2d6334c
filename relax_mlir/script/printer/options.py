"""What a script is printed with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PrintOptions:
    """Options of `IRModule.script`.

    Attributes:
        show_all_ty: whether variables have annotations that a reader would infer.
        module_alias: what functions call their module, `""` for the name of its class.
        verbose_expr: whether free variables are declared; functions and modules have none.
    """

    show_all_ty: bool = True
    module_alias: str = "cls"
    verbose_expr: bool = False

    @property
    def module(self) -> str:
        """What stands before the name of a function of the module."""
        return self.module_alias or "Module"
