"""Tensor intrinsics: a description and an implementation."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.errors import ScheduleTypeError, ScheduleValueError, did_you_mean
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import is_function, single


class TensorIntrin:
    """A description of a computation and an implementation of it, for `Schedule.tensorize`.

    Both are prim funcs with the same parameters: buffers of a tile's size.

    Attributes:
        name: what `tensorize` finds it by.
        desc: the text of the description, as MLIR.
        impl: the text of the implementation.
    """

    _registry: "dict[str, TensorIntrin]" = {}  # noqa: RUF012

    desc: str
    impl: str

    def __init__(self, name: str, desc: Any, impl: Any) -> None:
        self.name = name
        self.desc, parameters = _text_of(desc, "desc")
        self.impl, own = _text_of(impl, "impl")
        if parameters != own:
            raise ScheduleValueError(
                f"tensor intrinsic '{name}': desc takes {parameters}, impl takes {own}; they must "
                "take the same"
            )

    @staticmethod
    def register(name: str, desc: Any, impl: Any, override: bool = False) -> None:
        """Make a tensor intrinsic known.

        Args:
            name: what `tensorize` finds it by.
            desc: a prim func that says what it computes, by loops and blocks.
            impl: a prim func that computes the same; it takes the place of what matches.
            override: whether one of the name may be there already.

        Raises:
            ValueError: there is one of the name, or the functions do not take the same.
            TypeError: one of them is no prim func.
        """
        if name in TensorIntrin._registry and not override:
            raise ScheduleValueError(f"there is a tensor intrinsic '{name}'; give override=True")
        TensorIntrin._registry[name] = TensorIntrin(name, desc, impl)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> "TensorIntrin | None":
        """Return a tensor intrinsic by its name.

        Raises:
            ValueError: there is none, and that is not allowed.
        """
        result = TensorIntrin._registry.get(name)
        if result is None and not allow_missing:
            known = list(TensorIntrin._registry)
            near = did_you_mean(name, known)
            raise ScheduleValueError(
                f"no tensor intrinsic '{name}'{near}; "
                "TensorIntrin.register(name, desc, impl) makes one"
            )
        return result


def _text_of(function: Any, what: str) -> tuple[str, list[str]]:
    """Return a prim func as text, and the types of its parameters."""
    operation = single(function) if is_function(function) else function
    if isinstance(function, IRModule):
        with lock_of(function.context), function.context, ir.Location.unknown():
            result = [v.operation for v in function.mlir_module.body.operations]
            if len(result) == 1:
                return _described(result[0], what)
    elif isinstance(operation, ir.Operation):
        with lock_of(operation.context), operation.context, ir.Location.unknown():
            return _described(operation, what)
    raise ScheduleTypeError(f"{what} must be one prim func, got {type(function).__name__}")


def _described(function: ir.Operation, what: str) -> tuple[str, list[str]]:
    if function.name != "func.func" or "tir.prim_func" not in function.attributes:
        raise ScheduleTypeError(f"{what} must be a prim func, got '{function.name}'")
    types = [
        str(ir.MemRefType.get(argument.type.shape, argument.type.element_type))
        if isinstance(argument.type, ir.MemRefType) else str(argument.type)
        for argument in function.regions[0].blocks[0].arguments
    ]  # fmt: skip
    text = function.get_asm(enable_debug_info=True, print_generic_op_form=True)
    return text, types
