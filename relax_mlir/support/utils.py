"""Folders for temporary files, under TVM's names."""

import tempfile
from pathlib import Path
from types import TracebackType


class TempDirectory:
    """A folder that is removed with this object, or at the end of a `with` block.

    Attributes:
        path: the folder.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.path: Path = Path(self._folder.name)

    def relpath(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return str(self.path / name)

    def listdir(self) -> list[str]:
        """Return the names of the files in the folder."""
        return sorted(file.name for file in self.path.iterdir())

    def remove(self) -> None:
        """Remove the folder now."""
        self._folder.cleanup()

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __enter__(self) -> "TempDirectory":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


def tempdir() -> TempDirectory:
    """Return a new folder for temporary files."""
    return TempDirectory()
