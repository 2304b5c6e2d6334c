"""`relax-compile --view`: a page with a program's kernels, their code, and how fast they are."""

import contextlib
import re
from collections.abc import Mapping, Sequence

import relax_mlir.viz as viz
from relax_mlir.compiler import pipeline as builds
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.codegen.ffi.signature import KERNEL_PREFIX
from relax_mlir.lowering.target.target import Target
from relax_mlir.tools.relax_compile import kernel_report
from relax_mlir.tools.relax_compile.text_log import TextLog

# The first of the stages after which there are no expressions any more.
_IMPERATIVE = "ToNonDataflow"
_PLANNED = "VMMemoryLower"
_FUNCTION = re.compile(
    rf'^"?{KERNEL_PREFIX}(?P<name>[^":\n]+?)"?:.*?\n(?P<code>.*?)^\.Lfunc_end', re.M | re.S
)
# Directives of the assembler, which no processor runs.
_DIRECTIVE = re.compile(r"^\s*(?:\.cfi|\.p2align|\.loc|#).*\n", re.M)


def view(
    mod: IRModule,
    target: Target,
    pipeline: Sequence[str],
    sizes: Mapping[str, int],
    log: TextLog,
    title: str,
) -> str:
    """Return the page, as HTML.

    Args:
        mod: what is compiled.
        target: what for.
        pipeline: as in `relax.build`.
        sizes: values of symbolic sizes by name.
        log: a new one.
        title: of the page.

    Raises:
        PassError: a pass failed.
    """
    kernels, _ = kernel_report.measure(mod, target, pipeline, sizes)
    with kernel_report.kernels_alone():
        names = builds.stages(pipeline)
        last = names.index(_IMPERATIVE) if _IMPERATIVE in names else len(names)
        lowered = builds.lower(mod, names[last - 1], target=target, pipeline=pipeline)
        pictures = []
        if _PLANNED in names:
            planned = builds.lower(mod, _PLANNED, target=target, pipeline=pipeline)
            with contextlib.suppress(ExprTypeError):  # nothing to plan
                pictures.append(viz.memory_plan(planned))
        builds.build(mod, target, relax_pipeline=pipeline or "default", log=log)
    code = {each["name"]: each["code"] for each in _FUNCTION.finditer(log.texts.get(".s", ""))}
    rows = {kernel.name: kernel_report.row(kernel) for kernel in kernels}
    functions = {}
    for name in lowered.function_names:
        titles = [*kernel_report.COLUMNS[1:], "notes"]
        texts = [*zip(titles, rows[name][1:], strict=True)] if name in rows else []
        if name in code:
            texts.append(("assembly", _DIRECTIVE.sub("", code[name])))
        functions[name] = [("prim func", lowered[name].script()), *texts]
    return viz.report_page(lowered, title, functions=functions, extra=pictures)
