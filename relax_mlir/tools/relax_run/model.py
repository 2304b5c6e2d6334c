"""Loading the model: an executable from a file, or a program to compile."""

import sys
from pathlib import Path
from typing import Any

from relax_mlir.errors import BindingsError, PassError, RelaxMLIRError
from relax_mlir.runtime.executable import Executable
from relax_mlir.tools.common.flags import Options
from relax_mlir.tools.common.streams import InputError, read

_EXECUTABLES = (".rxe", ".so", ".tar")
_MAGIC = b"RLXMEXE\n"


class Model:
    """A file, and the executables that come of it.

    Attributes:
        is_program: whether it has to be compiled.

    Raises:
        InputError: the file is missing or unreadable.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        path = options.file
        self.is_program: bool = not path.endswith(_EXECUTABLES) and not _is_executable(path)
        self._source = read(path) if self.is_program else None

    def executable(self, separate: bool = False) -> Executable:
        """Return the executable.

        Args:
            separate: whether a program's kernels are to be calls of their own.

        Raises:
            RelaxMLIRError: it cannot be loaded or compiled.
        """
        if self.is_program:
            return self._compiled(separate)
        path = self._options.file
        if not Path(path).is_file():
            raise InputError(f"cannot open input file '{path}': No such file or directory")
        if path.endswith(_EXECUTABLES[1:]):
            from relax_mlir.runtime.files.loading import load_module

            module: Any = load_module(path)
            if isinstance(module, Executable):
                return module
            raise RelaxMLIRError(f"'{path}' has no executable in it")
        return Executable.load(path, weights=self._options["weights"])

    def _compiled(self, separate: bool) -> Executable:
        try:
            from relax_mlir.compiler import pipeline
            from relax_mlir.dialects.context import make_context
            from relax_mlir.pass_infra.context import DEFAULT_OPT_LEVEL, PassContext
            from relax_mlir.pass_infra.execution.diagnostics import DiagnosticContext
            from relax_mlir.tools.common import programs, reading
        except BindingsError as error:
            raise RelaxMLIRError(f"programs have to be compiled first: {error}") from None
        options, source = self._options, self._source
        assert source is not None
        context = make_context()
        module = programs.program_of(source, context, {})
        if module is None:
            raise SystemExit(1)
        target = options["target"] or "llvm"
        if options["threads"] is not None:
            target += f" -num-threads={options['threads']}"
        level = DEFAULT_OPT_LEVEL if options["opt-level"] is None else options["opt-level"]
        reported = DiagnosticContext()
        without = ["OutlineNative"] if separate else []
        try:
            with PassContext(level, disabled_pass=without, diag_ctx=reported):
                return pipeline.build(module, target)
        except PassError as error:
            diagnostic = reading.failure(error, reported.diagnostics)
            reading.report(source, diagnostic, context)
            raise SystemExit(1) from None
        except ValueError as error:
            if isinstance(error, RelaxMLIRError):
                raise
            raise RelaxMLIRError(f"flag '--target': {error}") from None


def _is_executable(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False


def warn(text: str) -> None:
    """Say something on standard error."""
    if sys.stderr is not None:
        print(text, file=sys.stderr)
