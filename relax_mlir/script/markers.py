"""Placeholders for `R.Tensor`, `T.handle` and others when Python evaluates annotations."""

from typing import Any, NoReturn

from relax_mlir.extension_points import extension

# What a function is written with, by `script.ir_builder.relax` outside of scripts.
_FRAME_FUNCTIONS = frozenset({
    "R.arg", "R.dataflow", "R.emit", "R.emit_match_cast", "R.emit_te", "R.emit_var_binding",
    "R.emit_with_ty", "R.emit_with_type", "R.func_attr", "R.func_name", "R.func_ret_ty",
    "R.func_ret_value", "R.output",
})  # fmt: skip

# What is an object of Python's outside of scripts, and among the arguments in them.
VALUES = {
    "I.dummy_global_info": "script.DummyGlobalInfo", "I.vdevice": "script.VDevice",
    "R.cpu": "script.cpu", "R.device": "script.device",
}  # fmt: skip


class Marker:
    """A name of the script language.

    Python evaluates the annotations and decorators of a script before the parser reads its source,
    so the language's names exist as objects. They carry their path (`R.Tensor`), and what they were
    called with: outside of scripts, `R.Tensor(("n", 4), "float32")` is a type (`relax.Var` takes
    it).
    """

    script_call: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    script_subscript = False

    def __init__(self, path: str) -> None:
        self.script_path = path
        self.__name__ = path.rpartition(".")[2]

    def __getattr__(self, name: str) -> "Marker":
        if name.startswith("__"):
            raise AttributeError(name)
        return Marker(f"{self.script_path}.{name}")

    def __getitem__(self, item: Any) -> "Marker":
        made = self(item)
        made.script_subscript = True
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102
        if self.script_path in _FRAME_FUNCTIONS:
            return getattr(extension("script.frames"), self.__name__)(*args, **kwargs)
        if self.script_path in VALUES:
            return extension(VALUES[self.script_path])(*args, **kwargs)
        made = Marker(self.script_path)
        made.script_call = (args, kwargs)
        if self.script_path.startswith("R.") and any(map(_is_expression, args)):
            # Outside of scripts, R.nn.relu(x) of an expression is relax.op.nn.relu(x).
            return extension("script.call")(made)
        if self.script_path.startswith("T.") and args and not kwargs:
            # Outside of scripts, T.int64(2) is a number and T.exp(x) tir.exp(x).
            return extension("tir.called")(self.__name__, args, made)
        return made

    def as_ty(self) -> Any:
        """Return the type that this is an annotation of.

        Raises:
            ExprTypeError: it is not one of a type.
        """
        return extension("script.as_type")(self)

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self.script_path} means something only inside a script function")

    def __repr__(self) -> str:
        return self.script_path


# TVM's name of it.
TypeProxy = Marker
# `I.meta_var` and `T.meta_var` are one.
META_VAR = Marker("T.meta_var")


def _is_expression(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_expression, value))
    return hasattr(type(value), "mlir_value")
