"""Flags for instruments and reproducers."""

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from relax_mlir import instrument
from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import did_you_mean
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra import config, registry
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.pass_infra.execution.diagnostics import Diagnostic, DiagnosticContext
from relax_mlir.pass_infra.interface import AnyPass
from relax_mlir.pass_infra.kinds.sequential import Sequential, passes_of
from relax_mlir.pass_infra.text.pipeline import Pipeline
from relax_mlir.pass_infra.text.reproducer import remaining
from relax_mlir.tools.common.flags import Options, UsageError

FLAGS = (
    "time-passes",
    "time-trace",
    "pass-statistics",
    "print-ir-diff",
    "mlir-print-ir-before",
    "mlir-print-ir-after",
    "check-well-formed",
    "check-equivalence",
    "dump-ir-dir",
    "opt-bisect-limit",
    "mlir-pass-pipeline-crash-reproducer",
)
# MLIR's PassManager prints and times a whole pipeline; here every pass has a manager of its own.
_WHOLE = (
    "mlir-timing",
    "mlir-print-ir-before-all",
    "mlir-print-ir-after-all",
    "mlir-print-ir-after-change",
    "mlir-print-ir-after-failure",
)


def wanted(options: Options) -> bool:
    """Whether a command line asks for any of this.

    Raises:
        UsageError: it also asks for what MLIR's PassManager does with a whole pipeline.
    """
    # A limit of 0 is one.
    given = [flag for flag in FLAGS if options[flag] is not None and options[flag] is not False]
    both = [flag for flag in _WHOLE if options[flag]]
    if given and both:
        raise UsageError(f"give either '--{given[0]}' or '--{both[0]}', not both")
    return bool(given)


class Watch:
    """The instruments that a command line asks for, and what they have to say in the end.

    Args:
        options: the command line.
        without: flags that the tool itself answers.
    """

    def __init__(self, options: Options, without: Collection[str] = ()) -> None:
        self.options: Options = Options(
            values={name: v for name, v in options.values.items() if name not in without}
        )
        self._timing = instrument.PassTimingInstrument()
        self._statistics = instrument.StatisticsInstrument()
        self._equivalence = instrument.EquivalenceCheck()
        self._dump: instrument.DumpIR | None = None

    def instruments(self) -> list[instrument.PassInstrument]:
        """Return the instruments in their order, the same ones every time where they count."""
        options = self.options
        limit = options["opt-bisect-limit"]
        result: list[Any] = []
        if limit is not None:
            result.append(_AnnouncedLimit(limit))
        before, after = (_names(options[flag]) for flag in _AROUND)
        if before or after:
            result.append(instrument.PassPrintingInstrument(before, after))
        if options["print-ir-diff"]:
            result.append(instrument.IRDiff())
        if options["dump-ir-dir"]:
            # One instrument for all parts of a split input, so that the numbers go on.
            self._dump = self._dump or instrument.DumpIR(options["dump-ir-dir"], script=False)
            result.append(self._dump)
        if options["check-well-formed"]:
            result.append(instrument.WellFormedInstrument())
        if options["check-equivalence"]:
            result.append(self._equivalence)
        if options["pass-statistics"]:
            result.append(self._statistics)
        if options["time-passes"] or options["time-trace"]:
            # The last to be asked before a pass: it times the pass and no other instrument.
            result.append(self._timing)
        return result

    def report(self) -> None:
        """Print tables and remarks to standard error, and write the trace."""
        for name, reason in self._equivalence.not_compared:
            print(f"remark: pass '{name}' was not checked: {reason}", file=sys.stderr)
        if self.options["time-passes"]:
            sys.stderr.write(self._timing.render())
        if self.options["time-trace"]:
            Path(self.options["time-trace"]).write_text(self._timing.to_chrome_trace())
        if self.options["pass-statistics"]:
            sys.stderr.write(self._statistics.render())


# The flags that print around the passes they name.
_AROUND = ("mlir-print-ir-before", "mlir-print-ir-after")


def _names(text: str | None) -> set[str]:
    """Return the names of passes that are given as names or flags."""
    given = {name.strip() for name in (text or "").split(",") if name.strip()}
    return given | {each.name for each in registry.entries() if each.flag in given}


def _check_names(options: Options, passes: Sequence[AnyPass]) -> None:
    """Reject names of passes that do not run."""
    names = [each.info.name for each in passes]
    for flag in _AROUND:
        for name in filter(None, (options[flag] or "").split(",")):
            if not _names(name) & set(names):
                flags = [registry.flag_of(each) for each in names]
                hint = did_you_mean(name, flags) or f"; it has {', '.join(flags) or 'no passes'}"
                raise UsageError(f"flag '--{flag}': the pipeline has no pass '{name}'{hint}")


class Stepwise:
    """Runs a pipeline pass by pass, as the command line has it, under instruments.

    Attributes:
        diagnostics: what MLIR reported during the last `run`.
    """

    def __init__(self, pipeline: Pipeline, options: Options) -> None:
        self.options = options
        self.diagnostics: list[Diagnostic] = []
        passes = passes_of(pipeline)
        _check_names(options, passes)
        self._passes = _Steps(passes, name="pipeline")
        self._watch = Watch(options)

    def run(self, module: ir.Module) -> None:
        """Run on a module in place.

        Raises:
            PassError: a pass failed.
        """
        collected = DiagnosticContext()
        ctx = PassContext(
            instruments=self._watch.instruments(), config=self._config(), diag_ctx=collected
        )
        self.diagnostics = collected.diagnostics
        try:
            with ctx:
                self._passes.run_in_place(IRModule(module), ctx)
        finally:
            self._watch.report()

    def _config(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self.options["verify-each"] is False:
            values[config.VERIFY_EACH] = False
        path = self.options["mlir-pass-pipeline-crash-reproducer"]
        if path:
            values[config.REPRODUCER] = path
        return values


class _Steps(Sequential):
    """What the command line says and nothing else: no levels, and no required passes."""

    def execute(self, mod: IRModule, ctx: PassContext) -> None:
        for index, each in enumerate(self.passes):
            with remaining(lambda i=index: [str(after) for after in self.passes[i + 1 :]]):
                each.run_in_place(mod, ctx)


class _AnnouncedLimit(instrument.PassLimit):
    """Says for every pass whether it runs, as LLVM does; the pipeline itself is not counted."""

    def should_run(self, mod: IRModule, info: Any) -> bool:
        if info.name == "pipeline":
            return True
        run = super().should_run(mod, info)
        verb = "running" if run else "NOT running"
        print(f"BISECT: {verb} pass ({len(self.names)}) {info.name}", file=sys.stderr)
        return run
