"""The argument table of a prim func, which the shared checking function reads.

All exported functions of an object share that function, so each is little more than a table.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# Words of the table's head: function's name, and how many rows of each kind follow.
HEAD_WORDS = 4
# A parameter: its name, dtype as DLPack has it (or SCALAR, FLOAT), the dtype's name, rank; for an
# integer its least and greatest value in the place of the last two.
PARAM_WORDS = 4
# A dimension: parameter, axis, parameter that has the same (or CONSTANT), that one's axis (WHOLE
# for an integer's value) or the constant, what to call it.
DIM_WORDS = 5
# Two buffers, of which the first is written, that must not overlap.
PAIR_WORDS = 2
SCALAR = CONSTANT = WHOLE = -1
FLOAT = -2
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4}
# Added to the rank of a buffer that may have gaps.
STRIDED = 1 << 32


class Strings:
    """The texts of an object, one after the other in one global."""

    def __init__(self, symbol: str = "relax_ffi_text") -> None:
        self.symbol = symbol
        self._offsets: dict[str, int] = {}
        self._data = bytearray()

    def offset(self, text: str) -> int:
        """Return where a text begins; it ends with a NUL."""
        if text not in self._offsets:
            self._offsets[text] = len(self._data)
            self._data += text.encode() + b"\0"
        return self._offsets[text]

    def definition(self) -> str:
        """Return the global as LLVM-dialect text."""
        escaped = "".join(
            chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in self._data
        )
        return (
            f'llvm.mlir.global internal constant @{self.symbol}("{escaped}") '
            f"{{addr_space = 0 : i32}} : !llvm.array<{len(self._data)} x i8>"
        )


@dataclass
class Table:
    """The checks of one exported function; names are offsets of `Strings`."""

    function: int
    params: list[Sequence[int]] = field(default_factory=list)
    dims: list[Sequence[int]] = field(default_factory=list)
    pairs: list[Sequence[int]] = field(default_factory=list)

    def definition(self, symbol: str) -> str:
        """Return the global as LLVM-dialect text."""
        words = [self.function, len(self.params), len(self.dims), len(self.pairs)]
        words += _flat(self.params) + _flat(self.dims) + _flat(self.pairs)
        listed = ", ".join(map(str, words))
        return (
            f"llvm.mlir.global internal constant @{symbol}(dense<[{listed}]> : "
            f"tensor<{len(words)}xi64>) {{addr_space = 0 : i32}} : "
            f"!llvm.array<{len(words)} x i64>"
        )


def _flat(rows: Iterable[Sequence[int]]) -> list[int]:
    return [word for row in rows for word in row]


def dlpack_dtype(dtype: str) -> int:
    """Return a dtype as the 32 bits that DLPack keeps: code, bits, and one lane."""
    if dtype == "bool":
        code, bits = 6, 8
    else:
        name = dtype.rstrip("0123456789")
        code, bits = _CODES[name], int(dtype[len(name) :])
    return code | bits << 8 | 1 << 16
