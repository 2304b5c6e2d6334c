"""The constants of a loaded executable: views of its file, checked before their first use."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import ExecutableFormatError
from relax_mlir.runtime.files.access import checksums, flat_bytes


class CheckedConstants(Sequence[Any]):
    """Constants that are compared with their checksums when somebody asks for them.

    Attributes:
        views: the constants as they are in the file, not checked: for what only needs addresses,
            and calls `verify` before it reads.
    """

    def __init__(
        self, views: list[Any], checks: dict[int, list[tuple[np.ndarray, list[int]]]]
    ) -> None:
        """Take the constants and, per index, the arrays in it with their checksums."""
        self.views = views
        self._checks = checks
        self._lock = threading.Lock()

    def verify(self, indices: Iterable[int] | None = None) -> None:
        """Compare constants, all or those of these indices, with their checksums, once each.

        Raises:
            ExecutableFormatError: the file is damaged; names the constant.
        """
        if not self._checks:
            return
        with self._lock:
            wanted = self._checks if indices is None else dict.fromkeys(indices)
            entries = [(i, *each) for i in wanted for each in self._checks.get(i, ())]
            sums = checksums(*(flat_bytes(array) for _, array, _ in entries))
            for (index, array, expected), actual in zip(entries, sums, strict=True):
                if actual != expected:
                    raise ExecutableFormatError(
                        f"Invalid VM file format in the data section: constant {index}, "
                        f"{array.dtype.name}{list(array.shape)}, has a wrong checksum"
                    )
            for index in list(wanted):
                self._checks.pop(index, None)

    def trust(self) -> None:
        """Take the constants as they are."""
        with self._lock:
            self._checks.clear()

    def __len__(self) -> int:
        return len(self.views)

    def __getitem__(self, index: Any) -> Any:
        if self._checks:
            indices = range(len(self.views))[index]
            self.verify([indices] if isinstance(indices, int) else indices)
        return self.views[index]

    def __iter__(self) -> Iterator[Any]:
        self.verify()
        return iter(self.views)

    def __repr__(self) -> str:
        return f"<{len(self.views)} constants, {len(self._checks)} not yet checked>"
