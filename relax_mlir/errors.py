"""The exceptions that people catch; standard library only, importable from every layer."""

from collections.abc import Iterable, Mapping


class RelaxMLIRError(Exception):
    """Base of every error this package raises on purpose."""


class BindingsError(RelaxMLIRError, ImportError):
    """The MLIR Python bindings are missing or incompatible; says what to install."""


class ScriptError(RelaxMLIRError, ValueError):
    """A TVMScript program is wrong; the message underlines the source.

    Attributes:
        message: what was wrong, one line.
        filename: the file of the script, or `<str>`.
        lineno: line in that file, from 1.
        col_offset: column, from 0.
        end_col_offset: end column on the same line, exclusive, or None.
        source_line: the text of the line.
    """

    def __init__(
        self,
        message: str,
        *,
        filename: str = "<str>",
        lineno: int = 1,
        col_offset: int = 0,
        end_col_offset: int | None = None,
        source_line: str = "",
    ) -> None:
        self.message = message
        self.filename = filename
        self.lineno = lineno
        self.col_offset = col_offset
        self.end_col_offset = end_col_offset
        self.source_line = source_line
        super().__init__(self.render())

    def render(self) -> str:
        """Return `file:line:col: error: message` with the source line and a caret run under it."""
        head = f"{self.filename}:{self.lineno}:{self.col_offset + 1}: error: {self.message}"
        if not self.source_line:
            return head
        line = self.source_line.rstrip("\n")
        end = self.end_col_offset if self.end_col_offset is not None else self.col_offset + 1
        run = max(1, min(end, len(line)) - self.col_offset)
        pad = "".join("\t" if ch == "\t" else " " for ch in line[: self.col_offset])
        return f"{head}\n{line}\n{pad}{'^' * run}"


# TVM's names.
DiagnosticError = ScriptError
TVMError = InternalError = OpError = RelaxMLIRError


class VerifyError(RelaxMLIRError, ValueError):
    """IR that does not parse or breaks a rule of its dialect; holds MLIR's diagnostics as lines."""

    def __init__(self, message: str, diagnostics: Iterable[str] = ()) -> None:
        self.diagnostics: tuple[str, ...] = tuple(diagnostics)
        super().__init__("\n".join([message, *self.diagnostics]))


class ExprError(RelaxMLIRError, ValueError):
    """An expression or a type that makes no sense: operands that no run could satisfy, ..."""


class ExprTypeError(ExprError, TypeError):
    """Something is of the wrong kind: a number where a tensor belongs, a string as a type."""


class ParameterNameError(ExprError, RuntimeError):
    """A function has no parameter or symbol of that name; a RuntimeError too, as in TVM."""


class SizeTypeError(ExprTypeError, RuntimeError):
    """A size is a symbol of another dtype than int64; a RuntimeError too, as in TVM."""


class TensorArgumentError(ExprTypeError, AssertionError):
    """A te function got an expression that is no tensor; an AssertionError too, as in TVM."""


class BuilderError(RelaxMLIRError, RuntimeError):
    """A BlockBuilder was used out of order, or with values of another scope."""


class StructuralEqualError(RelaxMLIRError, ValueError):
    """Two programs that should be structurally equal are not.

    Attributes:
        path: where in the first program the first difference is.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        self.path = path
        super().__init__(message)


class PipelineError(RelaxMLIRError, ValueError):
    """A pipeline names a pass or an option that does not exist, or is malformed."""


class PassTypeError(PipelineError, TypeError):
    """A pass, a PassContext or an instrument got something of the wrong kind."""


class ConfigKeyError(PipelineError, AttributeError):
    """A PassContext got an option that nothing has."""


class PassError(RelaxMLIRError, RuntimeError):
    """A pass failed; names the pass and carries the diagnostics with their locations."""

    def __init__(self, pass_name: str, message: str, diagnostics: Iterable[str] = ()) -> None:
        self.pass_name = pass_name
        self.diagnostics: tuple[str, ...] = tuple(diagnostics)
        super().__init__("\n".join([f"pass '{pass_name}' failed: {message}", *self.diagnostics]))


class ScheduleError(RelaxMLIRError, RuntimeError):
    """A schedule primitive cannot be applied; says why not and shows where.

    Attributes:
        primitive: what was tried.
        reason: why it cannot be done, one sentence.
    """

    primitive: str
    reason: str

    def __init__(self, message: str, *, primitive: str = "", reason: str = "") -> None:
        self.primitive, self.reason = primitive, reason or message
        super().__init__(message)


class ScheduleTypeError(ScheduleError, TypeError):
    """A schedule primitive was given something of the wrong kind, or not what it takes."""


class ScheduleValueError(ScheduleError, ValueError):
    """A choice, a trace or an intrinsic that a schedule cannot take."""


class ScheduleLookupError(ScheduleError, IndexError):
    """A schedule knows no function, or not one block, of a name."""


class CompileError(RelaxMLIRError, RuntimeError):
    """A stage after the passes (code generation, linking) could not continue."""

    def __init__(self, stage: str, message: str) -> None:
        self.stage = stage
        super().__init__(f"{stage}: {message}")


class ExecutableFormatError(RelaxMLIRError, ValueError):
    """A saved executable is truncated, corrupted, or made for another version or CPU."""


class ModelError(RelaxMLIRError, ValueError):
    """A model of another framework is broken, or says something that cannot be imported."""


class MissingPackageError(ModelError, ImportError):
    """The package that reads a kind of model is not installed; says how to get it."""


class UnsupportedOpError(ModelError, NotImplementedError):
    """A model needs operations that nothing converts; names all of them.

    Attributes:
        missing: a line for each operation: its name, how often, where first, why not.
    """

    def __init__(self, source: str, missing: Iterable[str]) -> None:
        self.missing: tuple[str, ...] = tuple(missing)
        count = len(self.missing)
        what = "one operation" if count == 1 else f"{count} operations"
        hint = "relax_mlir.frontend.registry.converts registers a converter"
        lines = [f"  {line}" for line in self.missing]
        super().__init__("\n".join([f"{source}: {what} cannot be imported:", *lines, hint]))


class VMError(RelaxMLIRError, RuntimeError):
    """Something went wrong while the virtual machine ran a function."""


class ArgumentTypeError(VMError, TypeError):
    """An argument has the wrong kind, rank or dtype, or their count is wrong."""


class TypeMismatchError(ArgumentTypeError, ValueError):
    """A tensor or a shape of another rank or dtype than declared; a ValueError too, as TVM's."""


class BytecodeError(VMError, ValueError):
    """Instructions that cannot run, such as one that reads a register nothing has written."""


class ShapeMismatchError(VMError, ValueError):
    """A run-time shape contradicts the declared one or a bound symbol."""


class StatefulCallError(VMError, ValueError):
    """A stateful call of a function whose inputs were not set, or a result that is not there."""


class DeviceError(VMError, ValueError):
    """A device that does not exist, or of a kind that is not registered."""


class FunctionKeyError(RelaxMLIRError, KeyError):
    """A module has no function of that name."""

    def __str__(self) -> str:
        # KeyError would show the text quoted.
        return str(self.args[0]) if self.args else ""


class ModuleCycleError(RelaxMLIRError, ValueError):
    """A runtime module would import itself, directly or through others."""


class FunctionNotFoundError(VMError, LookupError):
    """A requested function is neither in the executable nor in any registry."""


def missing(module: str, name: str, unsupported: Mapping[str, str], names: Iterable[str]) -> str:
    """Return what an AttributeError of a module says.

    Args:
        module: its name, without that of the package.
        name: what it does not have.
        unsupported: names of TVM's that it does not have, each with the reason.
        names: those that it has.
    """
    if name in unsupported:
        return f"{module or 'relax_mlir'} has no '{name}': {unsupported[name]}"
    # Names in underscores are Python's own questions.
    near = "" if name.startswith("_") else did_you_mean(name, names)
    return f"module 'relax_mlir{'.' if module else ''}{module}' has no attribute '{name}'{near}"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the closest candidate, or an empty string."""
    # Only errors need it.
    import difflib

    close = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""


def hint_of(name: str, candidates: Iterable[str]) -> str:
    """Return the closest candidate as `did_you_mean` does, else all of them where they are few."""
    names = list(candidates)
    near = did_you_mean(name, names)
    return near if near or not 0 < len(names) <= 8 else f"; there are: {', '.join(names)}"


def wrong_count(what: str, wanted: int, given: int) -> str:
    """Return that something takes another number of arguments than it got."""
    return f"{what} takes {wanted} argument{'' if wanted == 1 else 's'}, got {given}"
