"""What relax-opt does with one input: parse, run the pipeline, print, or check the diagnostics."""

import contextlib
import io
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context import make_context
from relax_mlir.errors import PassError, PipelineError
from relax_mlir.ir.module import IRModule
from relax_mlir.pass_infra.execution.diagnostics import Diagnostic
from relax_mlir.pass_infra.execution.pass_manager import build, nest_implicitly
from relax_mlir.pass_infra.execution.pass_manager_run import Execution
from relax_mlir.pass_infra.text.pipeline import Pipeline, Step
from relax_mlir.pass_infra.text.reproducer import read_pipeline, remarks_of
from relax_mlir.tools.common import reading, streams
from relax_mlir.tools.common.streams import Source
from relax_mlir.tools.relax_opt import expected_diagnostics, instruments
from relax_mlir.tools.relax_opt.flags import Options
from relax_mlir.tools.relax_opt.instruments import Stepwise

# Elements of a constant that a page shows.
_ELIDE = 16


class Session:
    """One run of the tool: a context, a pipeline, and the inputs that go through it.

    Raises:
        PipelineError: the command line's passes do not exist or do not fit.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.context: ir.Context = make_context()
        self.context.allow_unregistered_dialects = bool(options["allow-unregistered-dialect"])
        if options["mlir-disable-threading"]:
            self.context.enable_multithreading(False)
        self.execution: Execution | Stepwise | None = None
        # A reproducer brings its pipeline with it.
        if not options["run-reproducer"]:
            self._prepare(self._read_pipeline())

    def process(self, source: Source) -> int:
        """Handle a whole input and write the output; return the exit code."""
        if self.execution is None:
            self._prepare_reproducer(source.text or "")
        parts = source.split() if self.options["split-input-file"] else [source]
        outputs: list[bytes] = []
        failed = False
        for part in parts:
            result, diagnostics = self._process_part(part)
            if self.options["verify-diagnostics"]:
                diagnostics = expected_diagnostics.check(part, diagnostics)
                failed |= bool(diagnostics)
            else:
                failed |= result is None
            reading.report(part, diagnostics, self.context)
            if result is not None:
                outputs.append(result)
        # MLIR reports the times when its PassManager goes.
        self.execution = None
        self._write(outputs, failed)
        return 1 if failed else 0

    def _read_pipeline(self) -> Pipeline:
        text = self.options["pass-pipeline"]
        if text is not None:
            return Pipeline.parse(text)
        steps = [Step(name, options=value or None) for name, value in self.options.passes]
        return Pipeline(tuple(nest_implicitly(step, self.context) for step in steps))

    def _prepare_reproducer(self, text: str) -> None:
        try:
            self._prepare(Pipeline.parse(read_pipeline(text)))
        except PipelineError as error:
            remarks = [line for line in remarks_of(text) if "--load" in line]
            if not remarks or self.options["load"]:
                raise
            raise PipelineError(f"{error}; the reproducer says: {'; '.join(remarks)}") from error

    def _prepare(self, pipeline: Pipeline) -> None:
        if self.options["dump-pass-pipeline"]:
            print(f"Pass Manager with {len(pipeline.steps)} passes:", file=sys.stderr)
            print(pipeline, file=sys.stderr)
        stepwise = instruments.wanted(self.options)
        # Also where the passes run one by one: this is what finds mistakes in the pipeline.
        execution = self._make_execution(pipeline)
        self.execution = Stepwise(pipeline, self.options) if stepwise else execution

    def _make_execution(self, pipeline: Pipeline) -> Execution:
        execution = Execution(self.context)
        options = self.options
        with _muted_stderr():
            build(pipeline, execution)
        if options["verify-each"] is False:
            execution.manager.enable_verifier(False)
        if options["mlir-timing"]:
            execution.manager.enable_timing()
        only = options["mlir-print-ir-after-change"] or options["mlir-print-ir-after-failure"]
        after = options["mlir-print-ir-after-all"] or only
        if after or options["mlir-print-ir-before-all"]:
            folder = options["mlir-print-ir-tree-dir"]
            if folder is not None:
                # MLIR would say so for every file, and go on.
                with streams.naming_os_errors(f"make folder '{folder}'"):
                    Path(folder).mkdir(parents=True, exist_ok=True)
            execution.manager.enable_ir_printing(
                print_before_all=bool(options["mlir-print-ir-before-all"]),
                print_after_all=bool(after),
                print_module_scope=bool(options["mlir-print-ir-module-scope"]),
                print_after_change=bool(options["mlir-print-ir-after-change"]),
                print_after_failure=bool(options["mlir-print-ir-after-failure"]),
                large_elements_limit=options["mlir-elide-elementsattrs-if-larger"],
                large_resource_limit=options["mlir-elide-resource-strings-if-larger"],
                enable_debug_info=bool(options["mlir-print-debuginfo"]),
                print_generic_op_form=bool(options["mlir-print-op-generic"]),
                tree_printing_dir_path=folder,
            )
        return execution

    def _process_part(self, source: Source) -> tuple[bytes | None, list[Diagnostic]]:
        """Return the output, or None after a failure, and everything that was reported."""
        split = bool(self.options["split-input-file"])
        module, diagnostics = reading.parse(source, self.context, part=split)
        if self.options["run-reproducer"]:
            diagnostics = [each for each in diagnostics if "'mlir_reproducer'" not in each.message]
        if module is None or self.execution is None:
            return None, diagnostics
        if self.options["verify-roundtrip"] and not self._round_trips(module):
            message = "the input, printed and read again, is not the same"
            return None, [*diagnostics, Diagnostic("error", message)]
        before = self._shown(module)
        try:
            self.execution.run(module)
        except PassError as error:
            self._show_stacktrace(error)
            return None, diagnostics + reading.failure(error, self.execution.diagnostics)
        self._view(source, before, module)
        return self._print(module), diagnostics + self.execution.diagnostics

    def _shown(self, module: ir.Module) -> str:
        return IRModule(module).as_text(elide=_ELIDE) if self.options["view"] else ""

    def _view(self, source: Source, before: str, module: ir.Module) -> None:
        """Write the page that `--view` asks for; of several parts the last one stays."""
        if self.options["view"]:
            from relax_mlir.viz import diff, report_page

            change = diff(before, self._shown(module))
            page = report_page(IRModule(module), source.name, extra=[change])
            streams.write(self.options["view"], page.encode())

    def _round_trips(self, module: ir.Module) -> bool:
        text = str(module)
        try:
            return str(ir.Module.parse(text, self.context)) == text
        except ir.MLIRError:
            return False

    def _print(self, module: ir.Module) -> bytes:
        options = self.options
        buffer = io.BytesIO()
        if options["emit-bytecode"]:
            module.operation.write_bytecode(buffer)
            return buffer.getvalue()
        pretty = bool(options["mlir-pretty-debuginfo"])
        module.operation.print(
            file=buffer,
            binary=True,
            large_elements_limit=options["mlir-elide-elementsattrs-if-larger"],
            large_resource_limit=options["mlir-elide-resource-strings-if-larger"],
            enable_debug_info=bool(options["mlir-print-debuginfo"]) or pretty,
            pretty_debug_info=pretty,
            print_generic_op_form=bool(options["mlir-print-op-generic"]),
            use_local_scope=bool(options["mlir-print-local-scope"]),
            use_name_loc_as_prefix=bool(options["mlir-use-nameloc-as-prefix"]),
        )
        return buffer.getvalue().rstrip(b"\n") + b"\n"

    def _show_stacktrace(self, error: PassError) -> None:
        if self.options["print-stacktrace"] and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)

    def _write(self, outputs: list[bytes], failed: bool) -> None:
        separator = b"" if self.options["emit-bytecode"] else b"// -----\n"
        data = separator.join(outputs)
        path = self.options["o"]
        # A failed run leaves the file that was there alone.
        if not failed or path in (None, "-"):
            streams.write(path, data)


@contextlib.contextmanager
def _muted_stderr() -> Iterator[None]:
    """Hide what MLIR's option parser prints from C++; its PipelineError says it in one line."""
    sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:
        yield
        return
    try:
        with tempfile.TemporaryFile() as sink:
            os.dup2(sink.fileno(), 2)
            yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
