"""What relax-compile does with its input: parse, build or lower, write, report."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from relax_mlir.compiler import pipeline as builds
from relax_mlir.dialects.context import make_context
from relax_mlir.errors import PassError, PipelineError, RelaxMLIRError, did_you_mean
from relax_mlir.instrument import PrintOnChange
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector.describe import silence_warnings
from relax_mlir.pass_infra import config, registry
from relax_mlir.pass_infra.context import DEFAULT_OPT_LEVEL, PassContext
from relax_mlir.pass_infra.execution.diagnostics import Diagnostic, DiagnosticContext
from relax_mlir.pass_infra.execution.pass_manager import build as check_passes
from relax_mlir.pass_infra.execution.pass_manager_run import Execution
from relax_mlir.pass_infra.text.options import split_top_level
from relax_mlir.pass_infra.text.pipeline import Pipeline, parse_steps
from relax_mlir.runtime.executable import Executable
from relax_mlir.text_table import text_table
from relax_mlir.tools.common import reading, streams
from relax_mlir.tools.common.flags import Options, UsageError
from relax_mlir.tools.common.programs import program_of, shapes_of
from relax_mlir.tools.common.streams import Source
from relax_mlir.tools.relax_compile.flags import KINDS
from relax_mlir.tools.relax_compile.text_log import TextLog
from relax_mlir.tools.relax_opt.instruments import Watch


class Session:
    """One run of the tool.

    Raises:
        UsageError: a value on the command line is wrong.
        PipelineError: a pass, a stage or the target does not exist.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.kind = options["emit"] or "exe"
        self.context = make_context()
        self.target: Target = self._target()
        self.pipeline: list[str] = self._pipeline()
        self._watch = Watch(options, without=("dump-ir-dir", "time-passes"))
        self._reported = DiagnosticContext()
        self._pass_context = self._make_pass_context()
        self._sizes = self._report_sizes()
        self._shapes = shapes_of(options["shape"] or ())
        self._to = self._stage(options["to"]) if options["to"] is not None else None
        self._check_output()

    def list_stages(self) -> str:
        """Return the passes that run, and those that another level would also run."""
        with self._pass_context:
            run = builds.stages(self.pipeline)
        rows = []
        for name in self.pipeline:
            level = builds.level_of(name)
            note = f"from --opt-level={level}" if level else ""
            if name in self._pass_context.disabled_pass:
                note = "left out (--disable-pass)"
            elif name not in run:
                note = f"left out ({note})"
            rows.append((name, note))
        return text_table(rows)

    def process(self, source: Source) -> int:
        """Compile an input and write the result; return the exit code."""
        with silence_warnings() if self.options["quiet"] else contextlib.nullcontext():
            return self._process(source)

    def _process(self, source: Source) -> int:
        mod = program_of(source, self.context, self._shapes)
        if mod is None:
            return 1
        log = TextLog(self.options["dump-ir-dir"], keep=self.kind in ("asm", "llvm"))
        try:
            with self._pass_context:
                if self._to is not None:
                    lowered = builds.lower(
                        mod, self._to, target=self.target, pipeline=self.pipeline, log=log
                    )
                    data = f"{str(lowered).rstrip()}\n".encode()
                else:
                    looked_at = log if log.dumps or self.options["time-passes"] else None
                    executable = builds.build(
                        mod, self.target, relax_pipeline=self.pipeline or "default", log=looked_at
                    )
                    data = self._emit(executable, log)
                    if not executable.global_funcs and not executable.native:
                        self._reported.diagnostics.append(_nothing_to_call(source))
        except PassError as error:
            self._report(source, error)
            return 1
        finally:
            self._watch.report()
            if self.options["time-passes"]:
                sys.stderr.write(_times(log))
        reading.report(source, self._reported.diagnostics, self.context)
        streams.write(self._path(), data)
        if self.options["stats"]:
            print(executable.stats(), _sizes(executable), sep="\n", file=sys.stderr)
        if self.options["report"]:
            from relax_mlir.tools.relax_compile.kernel_report import report

            with self._pass_context:
                table = report(mod, self.target, self.pipeline, self._sizes)
            print(table, file=sys.stderr)
        if self.options["view"]:
            self._view(mod, source)
        return 0

    def _target(self) -> Target:
        text = self.options["target"]
        try:
            return Target.default() if text is None else Target(text)
        except ValueError as error:
            # Also shlex's own error, for quotes that stay open.
            raise UsageError(f"flag '--target': {error}") from None

    def _pipeline(self) -> list[str]:
        text = self.options["pipeline"]
        if text is None:
            return list(builds.DEFAULT_PIPELINE)
        return [self._pass_name(name) for name in split_top_level(text, ",")]

    def _pass_name(self, name: str) -> str:
        """Return a pass as a build calls it, one of relax_mlir also by its flag.

        Raises:
            PipelineError: there is no such pass.
        """
        entry = registry.find(name)
        if entry is not None:
            return entry.name
        check_passes(Pipeline(parse_steps(name)), Execution(self.context))
        return name

    def _names(self, flag: str) -> list[str]:
        given = [name for text in self.options[flag] or [] for name in split_top_level(text, ",")]
        return [self._pass_name(name) for name in given]

    def _make_pass_context(self) -> PassContext:
        options = self.options
        level = options["opt-level"]
        required = self._names("required-pass")
        if options["opt-bisect-limit"] is not None:
            # As in LLVM: only what a build can do without is counted, and perhaps rejected.
            required += [n for n in (*self.pipeline, "LowerTIR") if not builds.is_optional(n)]
        instruments: list[Any] = self._watch.instruments()
        if options["print-ir-after-change"]:
            instruments.append(PrintOnChange())
        try:
            return PassContext(
                DEFAULT_OPT_LEVEL if level is None else level,
                required,
                self._names("disable-pass"),
                instruments,
                self._config(),
                diag_ctx=self._reported,
            )
        except (AttributeError, TypeError) as error:
            raise UsageError(f"flag '--pass-config': {error}") from None

    def _config(self) -> dict[str, Any]:
        known = config.list_configs()
        values: dict[str, Any] = {}
        for text in self.options["pass-config"] or []:
            key, equals, value = text.partition("=")
            if not equals:
                raise UsageError(f"flag '--pass-config' wants key=value, got '{text}'")
            kind = known.get(key, {}).get("type")
            values[key] = value if kind in ("str", "path") else _parsed(value)
        if self.kind == "obj":
            values[config.SPLIT_OBJECTS] = False
        if self.options["crash-reproducer"]:
            values[config.REPRODUCER] = self.options["crash-reproducer"]
        return values

    def _report_sizes(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        given = self.options["report-size"] or []
        for text in (each for texts in given for each in texts.split(",")):
            name, equals, size = text.partition("=")
            if not (equals and name.isidentifier() and size.isdecimal()):
                raise UsageError(f"flag '--report-size' wants name=size, got '{text}'")
            sizes[name] = int(size)
        return sizes

    def _stage(self, wanted: str) -> str:
        entry = registry.find(wanted)
        name = entry.name if entry is not None else wanted
        with self._pass_context:
            run = builds.stages(self.pipeline)
        if name in run:
            return name
        if name in self.pipeline:
            raise PipelineError(f"stage '{name}' does not run at this level; see --list-stages")
        hint = did_you_mean(name, self.pipeline) or "; see --list-stages"
        raise PipelineError(f"unknown stage '{wanted}'{hint}")

    def _check_output(self) -> None:
        printed = self._to is not None or self.options["list-stages"]
        if self.options["o"] is None and self.options.file == "-" and not printed:
            raise UsageError("standard input has no name to write to: give one with -o")

    def _path(self) -> str | None:
        path = self.options["o"]
        if path is not None or self._to is not None:
            return path
        return str(Path(self.options.file).with_suffix(KINDS[self.kind]))

    def _report(self, source: Source, error: PassError) -> None:
        diagnostic = reading.failure(error, self._reported.diagnostics)
        reading.report(source, diagnostic, self.context)

    def _view(self, mod: IRModule, source: Source) -> None:
        from relax_mlir.tools.relax_compile.view import view

        with self._pass_context:
            page = view(
                mod, self.target, self.pipeline, self._sizes, TextLog(keep=True), source.name
            )
        streams.write(self.options["view"], page.encode())

    def _emit(self, executable: Executable, log: TextLog) -> bytes:
        if self.kind == "exe":
            return executable.to_bytes()
        if not executable.native:
            raise RelaxMLIRError(f"the program has no native code to emit as {self.kind}")
        if self.kind == "obj":
            (only,) = executable.native
            return only.data
        return log.texts[KINDS[self.kind]].encode()


def _nothing_to_call(source: Source) -> Diagnostic:
    return Diagnostic(
        "warning",
        "there is nothing to call: the module has no Relax function and no prim func with a body",
        source.name,
    )


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _times(log: TextLog) -> str:
    total = log.seconds
    times = [*((stage.name, stage.seconds) for stage in log.stages), ("total", total)]
    rows = [(name, f"{1e3 * s:.2f} ms", f"{100 * s / (total or 1):.1f}%") for name, s in times]
    return text_table(rows, right=(1, 2)) + "\n"


def _sizes(executable: Executable) -> str:
    data = sum(getattr(constant, "nbytes", 0) for constant in executable.constants)
    code = sum(len(each.data) for each in executable.native)
    rows = [
        ("Constants", data),
        ("Bytecode", executable.instr_data.nbytes + executable.instr_offset.nbytes),
        ("Native code", code),
        ("File", len(executable.to_bytes())),
    ]
    return "\n".join(f"  {name}: {size} bytes" for name, size in rows)
