"""Buffers of a prim func under construction: loads, stores, and parts of a buffer."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.layout import INT4
from relax_mlir.dialects.tir.scalar import INDEX, DtypeError, Scalar, ScalarLike, cast

arith: ModuleType = submodule("dialects.arith")
memref: ModuleType = submodule("dialects.memref")


@dataclass(frozen=True)
class Access:
    """What a block touches of a buffer: where that begins, and how far it reaches if not `1`."""

    buffer: "Buffer"
    map: ir.Attribute
    extents: tuple[SymExpr, ...] = ()


class AccessRecorder(Protocol):
    """What a buffer needs of the builder of its function."""

    def record(self, kind: str, buffer: "Buffer", indices: list[Scalar]) -> None:
        """Note an access of the innermost open block."""
        ...


class Buffer:
    """A buffer of the prim func under construction: index it to load, `store` to write."""

    name: str
    dims: list[SymExpr]
    dtype: str
    value: ir.Value

    def __init__(
        self, builder: "AccessRecorder", name: str, dims: Sequence[SymExpr], dtype: str,
        value: ir.Value,
    ) -> None:  # fmt: skip
        # The builder has the buffer: a cycle would keep the program alive for the collector.
        self._ref = weakref.ref(builder)
        self.name, self.dims, self.dtype, self.value = name, list(dims), dtype, value

    @property
    def _builder(self) -> "AccessRecorder":
        builder = self._ref()
        assert builder is not None, "a buffer is used while its builder is"
        return builder

    def __getitem__(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> Scalar:
        """Load one element.

        Raises:
            DtypeError: as many indices as dimensions, all integers, are needed.
        """
        scalars = self._indices(indices)
        self._builder.record("tir.reads", self, scalars)
        value = memref.load(self.value, [s.value for s in scalars])
        if self.dtype == "bool":
            return Scalar(value, "uint8") != 0
        if self.dtype in INT4:
            extend = arith.extsi if self.dtype == "int4" else arith.extui
            return Scalar(extend(ir.IntegerType.get_signless(8), value), INT4[self.dtype])
        return Scalar(value, self.dtype)

    def store(self, value: ScalarLike, indices: "ScalarLike | tuple[ScalarLike, ...]") -> None:
        """Store one element.

        Raises:
            DtypeError: wrong number of indices, or a value of another dtype.
        """
        scalars = self._indices(indices)
        wanted = INT4.get(self.dtype, self.dtype)
        if isinstance(value, Scalar) and value.dtype not in (wanted, INDEX):
            raise DtypeError(
                f"buffer '{self.name}' holds {wanted}, got a value of {value.dtype}; cast it"
            )
        stored = cast(cast(value, wanted), "uint8" if wanted == "bool" else wanted).value
        if self.dtype in INT4:
            stored = arith.trunci(ir.IntegerType.get_signless(4), stored)
        self._builder.record("tir.writes", self, scalars)
        memref.store(stored, self.value, [s.value for s in scalars])

    def place(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> list[Scalar]:
        """Return where an element lies in the buffer that `value` is.

        Raises:
            DtypeError: as many indices as dimensions, all integers, are needed.
        """
        return self._indices(indices)

    def _indices(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> list[Scalar]:
        items = indices if isinstance(indices, tuple) else (indices,)
        if len(items) != len(self.dims):
            raise DtypeError(
                f"buffer '{self.name}' has {len(self.dims)} dimensions, indexed with {len(items)}"
            )
        for item in items:
            if isinstance(item, float) or (isinstance(item, Scalar) and "float" in item.dtype):
                raise DtypeError(f"an index of buffer '{self.name}' must be an integer")
        return [cast(item, INDEX) for item in items]


class Region(Buffer):
    """Part of a buffer under a name of its own: its indices count from where the part begins."""

    def __init__(
        self, base: Buffer, name: str, dims: Sequence[SymExpr], starts: Sequence[ScalarLike],
        kept: Sequence[int],
    ) -> None:  # fmt: skip
        """Describe the part.

        Args:
            base: buffer that it is a part of.
            name: its own name.
            dims: its own shape.
            starts: where it begins, in each dimension of the base.
            kept: the dimensions of the base that are its own.
        """
        super().__init__(base._builder, name, dims, base.dtype, base.value)
        self._base, self._starts, self._kept = base, list(starts), list(kept)

    def __getitem__(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> Scalar:
        """Load one element."""
        return self._base[self._outer(indices)]

    def store(self, value: ScalarLike, indices: "ScalarLike | tuple[ScalarLike, ...]") -> None:
        """Store one element."""
        self._base.store(value, self._outer(indices))

    def place(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> list[Scalar]:
        """Return where an element lies in the whole buffer."""
        return self._base.place(self._outer(indices))

    def _outer(self, indices: "ScalarLike | tuple[ScalarLike, ...]") -> tuple[ScalarLike, ...]:
        own = self._indices(indices)
        outer: list[ScalarLike] = list(self._starts)
        for position, index in zip(self._kept, own, strict=True):
            start = outer[position]
            outer[position] = index if type(start) is int and start == 0 else index + start
        return tuple(outer)
