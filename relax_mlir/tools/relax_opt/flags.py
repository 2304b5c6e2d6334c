"""The command line of relax-opt: mlir-opt's flags, plus every pass as a flag in the order given."""

from collections.abc import Callable, Sequence

from relax_mlir.errors import did_you_mean
from relax_mlir.tools.common import loading
from relax_mlir.tools.common.flags import Flag, Options, UsageError, scan, table

FLAGS = (
    Flag("o", "Write the result here instead of to standard output", "file"),
    Flag(
        "pass-pipeline",
        "Run these passes, relax_mlir's and upstream's: builtin.module(...)",
        "text",
    ),
    Flag("target", "What the passes lower for (default: RELAX_MLIR_TARGET, else this CPU)", "text"),
    loading.FLAG,
    Flag("split-input-file", "Treat the parts between lines '// -----' as separate inputs"),
    Flag("verify-diagnostics", "Check errors against expected-error {{...}} and the like"),
    Flag("emit-bytecode", "Write MLIR bytecode instead of text"),
    Flag("verify-each", "Run the verifier after each pass (default: true)", "bool"),
    Flag("verify-roundtrip", "Check that the input, printed and read again, is the same"),
    Flag("mlir-disable-threading", "Run passes on one thread"),
    Flag("allow-unregistered-dialect", "Accept operations of unknown dialects"),
    Flag("mlir-print-ir-before-all", "Print the IR before each pass to standard error"),
    Flag("mlir-print-ir-after-all", "Print the IR after each pass to standard error"),
    Flag("mlir-print-ir-before", "Print the IR before these passes, separated by commas", "text"),
    Flag("mlir-print-ir-after", "Print the IR after these passes, separated by commas", "text"),
    Flag("mlir-print-ir-after-change", "Print the IR after each pass that changed it"),
    Flag("mlir-print-ir-after-failure", "Print the IR after a pass that failed"),
    Flag("mlir-print-ir-module-scope", "Print the whole module, not only what the pass ran on"),
    Flag("mlir-print-ir-tree-dir", "Print to files in this folder instead", "folder"),
    Flag("mlir-timing", "Report the time of each pass to standard error"),
    Flag("time-passes", "Report the time of each pass as a tree, with self time and percentages"),
    Flag("time-trace", "Write the times as a Chrome trace", "file"),
    Flag("pass-statistics", "Report operations and memory before and after each pass"),
    Flag("view", "Write a page with the graph of the result, and what changed", "file"),
    Flag("print-ir-diff", "Print what each pass changed to standard error"),
    Flag("dump-ir-dir", "Write the IR after each pass to numbered files in this folder", "folder"),
    Flag("check-well-formed", "Check symbols and calls of whole functions after each pass"),
    Flag("check-equivalence", "Run functions on random inputs before and after each pass"),
    Flag("opt-bisect-limit", "Run only the first so many passes, and say which", "count", int),
    Flag(
        "mlir-pass-pipeline-crash-reproducer",
        "Write the IR before a pass that fails and the passes that remain",
        "file",
    ),
    Flag("run-reproducer", "Run the pipeline that the input, a reproducer, carries"),
    Flag("mlir-print-debuginfo", "Print locations"),
    Flag("mlir-pretty-debuginfo", "Print locations for people; does not parse back"),
    Flag("mlir-print-op-generic", "Print the generic form of operations"),
    Flag("mlir-print-local-scope", "Print aliases and types in place"),
    Flag("mlir-use-nameloc-as-prefix", "Name values after their locations"),
    Flag("mlir-elide-elementsattrs-if-larger", "Leave out bigger constants", "count", int),
    Flag("mlir-elide-resource-strings-if-larger", "Leave out bigger resources", "count", int),
    Flag("dump-pass-pipeline", "Print the pipeline that will run to standard error"),
    Flag("list-passes", "List the passes and exit"),
    Flag("show-dialects", "List the dialects and exit"),
    Flag("print-stacktrace", "On an internal error, show where in the Python code it arose"),
    Flag("help", "Show this text and exit"),
    Flag("version", "Show the versions and exit"),
)


def parse(argv: Sequence[str], is_pass: Callable[[str], bool]) -> Options:
    """Read a command line; single and double dashes mean the same.

    Args:
        argv: the arguments without the program's name.
        is_pass: whether a word that is no flag names a pass; asked only where needed.

    Raises:
        UsageError: an unknown flag, a missing or wrong value, or two inputs.
    """
    options = scan(argv, FLAGS, _unknown, is_pass)
    if options.passes and "pass-pipeline" in options.values:
        raise UsageError(
            f"give either --pass-pipeline or passes as flags ('--{options.passes[0][0]}'), not both"
        )
    if options["run-reproducer"] and (options.passes or "pass-pipeline" in options.values):
        raise UsageError("a reproducer brings its pipeline: give no passes with --run-reproducer")
    return options


def usage() -> str:
    """Return the help text."""
    lines = [
        "usage: relax-opt [flags] [file]",
        "",
        "Read MLIR text or bytecode ('-' or nothing: standard input), or a TVMScript in a file",
        "that ends in .py, which is parsed and not executed; run passes; print the IR.",
        "Every pass is also a flag: --to-non-dataflow --cse --canonicalize=max-iterations=3;",
        "they run in the order given. --list-passes names them; --load=FILE.py adds yours.",
        "",
        "flags:",
        *table(FLAGS),
    ]
    return "\n".join(lines)


def _unknown(word: str, name: str) -> UsageError:
    # Only now are the passes' names worth loading.
    from relax_mlir.pass_infra import registry, upstream

    candidates = [
        *(flag.name for flag in FLAGS),
        *(entry.flag for entry in registry.entries()),
        *upstream.NAMES,
    ]
    hint = did_you_mean(name, candidates).replace("'", "'--", 1)
    return UsageError(f"unknown flag or pass '{word.partition('=')[0]}'{hint}")
