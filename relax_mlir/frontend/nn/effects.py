"""State that functions take and give back: input and output, caches of keys and values."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.frontend.nn.tensor import Tensor, current_builder, get_default_dtype
from relax_mlir.relax import op
from relax_mlir.relax.expr import ObjectType, PrimValue, ShapeExpr, TensorType, Var


class Effect:
    """What a module changes while it runs: functions take it and give it back."""

    def emit_init(self, name_hint: str, builder: Any) -> list[Any]:
        """Emit what the state is at the beginning; returns its variables."""
        raise NotImplementedError

    def create(self, name_hint: str) -> list[Var]:
        """Return the parameters that a function takes the state by."""
        raise NotImplementedError

    def set_state(self, state_vars: list[Any]) -> None:
        """Take the state, as a function begins."""
        raise NotImplementedError

    def finalize(self) -> list[Any]:
        """Give the state, as a function ends."""
        raise NotImplementedError

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype, where there is one."""


class IOEffect(Effect):
    """Printing and debugging, in the order of the program."""

    def __init__(self) -> None:
        self.effect: Any = None

    def emit_init(self, name_hint: str, builder: Any) -> list[Any]:
        """Emit an empty state."""
        return [builder.emit(op.null_value(), f"{name_hint}_io")]

    def create(self, name_hint: str) -> list[Var]:
        """Return the parameter."""
        return [Var(f"{name_hint}_io", ObjectType())]

    def set_state(self, state_vars: list[Any]) -> None:
        """Take the state."""
        (self.effect,) = state_vars

    def finalize(self) -> list[Any]:
        """Give the state."""
        result, self.effect = self.effect, None
        return [result]


class KVCache(Effect):
    """A tensor that grows along its first dimension, such as keys and values of attention.

    Args:
        init_seq_len: for how many elements there is room at first.
        unit_shape: shape of each element.
        dtype: of the elements, the default one if left out.
    """

    def __init__(
        self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None
    ) -> None:
        self.init_seq_len = init_seq_len
        self.unit_shape: list[int] = [int(size) for size in unit_shape]
        self.dtype: str = dtype or get_default_dtype()
        self.cache: Any = None

    def emit_init(self, name_hint: str, builder: Any) -> list[Any]:
        """Emit an empty cache."""
        shape = ShapeExpr([self.init_seq_len, *self.unit_shape])
        made = op.call_pure_packed(
            "vm.builtin.attention_kv_cache_create",
            op.zeros(shape, self.dtype), shape, PrimValue(0), sinfo_args=ObjectType(),
        )  # fmt: skip
        return [builder.emit(made, name_hint.replace(".", "_"))]

    def create(self, name_hint: str) -> list[Var]:
        """Return the parameter."""
        return [Var(name_hint.replace(".", "_"), ObjectType())]

    def set_state(self, state_vars: list[Any]) -> None:
        """Take the cache."""
        (self.cache,) = state_vars

    def finalize(self) -> list[Any]:
        """Give the cache."""
        result, self.cache = self.cache, None
        return [result]

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the elements."""
        if dtype is not None:
            self.dtype = dtype

    def view(self, seq_len: Any) -> Tensor:
        """Return the first elements.

        Args:
            seq_len: how many: an integer, or a symbolic one.
        """
        shape = ShapeExpr([seq_len, *self.unit_shape])
        made = op.call_pure_packed(
            "vm.builtin.attention_kv_cache_view", self.cache, shape,
            sinfo_args=TensorType(shape.values, self.dtype),
        )  # fmt: skip
        return Tensor(_expr=current_builder().emit(made))

    def append(self, new_element: Tensor) -> None:
        """Add elements at the end.

        Raises:
            TypeError: they have another dtype.
        """
        if new_element.dtype != self.dtype:
            raise TypeError(
                f'KVCache has been set to use dtype "{self.dtype}", but got "{new_element.dtype}"'
            )
        self.cache = current_builder().emit(
            op.call_inplace_packed(
                "vm.builtin.attention_kv_cache_append", self.cache, new_element._expr,
                inplace_indices=[0], sinfo_args=ObjectType(),
            )
        )  # fmt: skip
