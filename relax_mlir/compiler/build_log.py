"""The log of a compilation: its stages, their times, and the IR after each."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from relax_mlir.dialects.bindings import ir

if TYPE_CHECKING:
    from relax_mlir.compiler.arenas import Arena

# Constants are not program text; past this many elements they are elided in dumps.
ELIDE_ELEMENTS = 16
_SUFFIXES = (".mlir", ".ll", ".s")
_LOGGER = logging.getLogger("relax_mlir.build")


@dataclass(frozen=True)
class BuildStage:
    """One stage of a compilation.

    Attributes:
        name: the pass or step.
        seconds: wall-clock time.
        path: where the program after it was written, None when it was not.
    """

    name: str
    seconds: float
    path: Path | None = None


class BuildLog:
    """Pass one to `relax.build` to see what happened.

    Args:
        dump_dir: folder for the IR after each stage, `NN_stage.mlir`; made when missing, and
            cleared of what an earlier log left.

    Attributes:
        stages: what ran, in order.
        memory: the memory of each native function that needs some, by its name.
    """

    def __init__(self, dump_dir: str | Path | None = None) -> None:
        self.stages: list[BuildStage] = []
        self.memory: dict[str, Arena] = {}
        self._dir = Path(dump_dir) if dump_dir is not None else None
        if self._dir is not None:
            self._dir.mkdir(parents=True, exist_ok=True)
            for stale in self._dir.glob("[0-9][0-9]_*.*"):
                if stale.suffix in _SUFFIXES:
                    stale.unlink()

    @property
    def seconds(self) -> float:
        """The time of all stages together."""
        return sum(stage.seconds for stage in self.stages)

    @contextmanager
    def stage(self, name: str, module: ir.Module | None = None) -> Iterator[None]:
        """Time a stage and, when given, write the module as it is afterwards."""
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        text = None if module is None or self._dir is None else module_text(module)
        self.add(name, seconds, text)

    def add(self, name: str, seconds: float, text: str | None = None, suffix: str = "mlir") -> None:
        """Note a stage that was timed elsewhere."""
        path = None
        if text is not None and self._dir is not None:
            path = self._dir / f"{len(self.stages):02d}_{_file_name(name)}.{suffix}"
            path.write_text(text)
        self.stages.append(BuildStage(name, seconds, path))
        _LOGGER.debug("%s: %.1f ms", name, seconds * 1e3)

    @property
    def dumps(self) -> bool:
        """Whether programs are written."""
        return self._dir is not None


def module_text(module: ir.Module) -> str:
    """Return a module as text for people: names kept, large constants elided."""
    return module.operation.get_asm(
        use_name_loc_as_prefix=True,
        large_elements_limit=ELIDE_ELEMENTS,
        large_resource_limit=ELIDE_ELEMENTS,
    )


def _file_name(name: str) -> str:
    return "".join(ch if ch.isalnum() else "_" for ch in name).strip("_")
