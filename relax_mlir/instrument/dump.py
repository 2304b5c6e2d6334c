"""The program after every pass, in numbered files."""

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from relax_mlir.errors import PassTypeError, RelaxMLIRError
from relax_mlir.pass_infra.instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.info import PassInfo


class DumpIR(PassInstrument):
    """Writes `NNN_Pass.py` after every pass, and `NNN_Pass_failed.mlir` for one that failed.

    Args:
        dump_dir: the folder; made when missing.
        refresh: remove what is in it first.
        script: write TVMScript; else, and where a module has no script, MLIR, `NNN_Pass.mlir`.
        before: also write what each pass was given, `NNN_Pass_before.py`.

    Attributes:
        files: what was written, in order.

    Raises:
        NotADirectoryError: the folder is a file.
        PassTypeError: it is no path.
    """

    def __init__(
        self,
        dump_dir: str | Path,
        refresh: bool = False,
        *,
        script: bool = True,
        before: bool = False,
    ) -> None:
        if not isinstance(dump_dir, (str, Path)):
            raise PassTypeError(f"DumpIR takes the path of a folder, got {dump_dir!r}")
        self.dump_dir: Path = Path(dump_dir)
        self.script = script
        self.before = before
        self.files: list[Path] = []
        self._failed: BaseException | None = None
        if self.dump_dir.exists() and not self.dump_dir.is_dir():
            raise NotADirectoryError(f"'{dump_dir}' is a file")
        if refresh and self.dump_dir.exists():
            shutil.rmtree(self.dump_dir)
        self.dump_dir.mkdir(parents=True, exist_ok=True)

    def run_before_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Write the module if that is wanted."""
        if self.before:
            self._write(f"{info.name}_before", mod)

    def run_after_pass(self, mod: "IRModule", info: "PassInfo") -> None:
        """Write the module."""
        self._write(info.name, mod)

    def pass_failed(self, mod: "IRModule", info: "PassInfo", error: BaseException) -> None:
        """Write what the innermost failing pass left."""
        if self._failed is not error:
            self._write(f"{info.name}_failed", mod, script=False)
        self._failed = error

    def exit_pass_ctx(self) -> None:
        """Let go of the error."""
        self._failed = None

    def _write(self, name: str, mod: "IRModule", script: bool | None = None) -> None:
        stem = "".join(char if char.isalnum() or char in "-." else "_" for char in name)[:80]
        text, suffix = "", "mlir"
        if self.script if script is None else script:
            with contextlib.suppress(RelaxMLIRError):
                text, suffix = mod.script(), "py"
        text = text or mod.mlir_module.operation.get_asm(assume_verified=True)
        path = self.dump_dir / f"{len(self.files):03d}_{stem}.{suffix}"
        path.write_text(text, encoding="utf-8")
        self.files.append(path)
