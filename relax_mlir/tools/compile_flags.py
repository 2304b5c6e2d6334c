"""The command line of relax-compile: relax.build's arguments, and flags of relax-opt."""

from collections.abc import Sequence

from relax_mlir.errors import did_you_mean
from relax_mlir.tools import loading, opt_flags
from relax_mlir.tools.flags import Flag, Options, UsageError, scan, table

# What `--emit` takes, and the suffix of the file.
KINDS = {"exe": ".rxe", "obj": ".o", "asm": ".s", "llvm": ".ll"}
# Flags that mean what they mean to relax-opt.
SHARED = (
    "time-trace",
    "pass-statistics",
    "print-ir-diff",
    "check-well-formed",
    "opt-bisect-limit",
)
_SHARED_DOCS = {flag.name: flag for flag in opt_flags.FLAGS}

FLAGS = (
    Flag("o", "Write the result here; without it the input's name with another suffix", "file"),
    Flag("emit", "What to write: exe, obj, asm or llvm (default: exe)", "kind"),
    Flag(
        "target",
        "What to compile for, such as 'llvm -mcpu=x86-64-v3' (default: this machine)",
        "text",
    ),
    Flag("opt-level", "0 to 3: how much to optimise (default: 2)", "level", int),
    Flag("disable-pass", "Leave out these passes, separated by commas", "names", repeated=True),
    Flag(
        "required-pass",
        "Run these passes whatever the level, separated by commas",
        "names",
        repeated=True,
    ),
    Flag("pass-config", "Set an option of the PassContext", "key=value", repeated=True),
    loading.FLAG,
    Flag("pipeline", "Run these passes, separated by commas, instead of the default ones", "names"),
    Flag("list-stages", "List the passes that would run and exit"),
    Flag("to", "Print the program as it is after this pass, and do not compile", "stage"),
    Flag("dump-ir-dir", "Write the program after each stage to files in this folder", "folder"),
    Flag("time-passes", "Report the time of each stage to standard error"),
    *(_SHARED_DOCS[name] for name in SHARED),
    Flag("print-ir-after-change", "Print the IR after each pass that changed it"),
    Flag("crash-reproducer", "Write the IR before a pass that fails, for relax-opt", "file"),
    Flag("stats", "Report what is in the executable, and sizes, to standard error"),
    Flag("report", "Report each kernel, its class and how near its limit, to standard error"),
    Flag(
        "report-size",
        "Sizes that kernels are run with, separated by commas",
        "n=128,m=64",
        repeated=True,
    ),
    Flag("quiet", "Do not warn of kernels without a fast path"),
    Flag("help", "Show this text and exit"),
    Flag("version", "Show the versions and exit"),
)
_LEVELS = range(4)


def parse(argv: Sequence[str]) -> Options:
    """Read a command line.

    Raises:
        UsageError: it is wrong.
    """
    options = scan(argv, FLAGS)
    kind = options["emit"] or "exe"
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f"; there are {', '.join(KINDS)}"
        raise UsageError(f"'--emit' cannot be '{kind}'{hint}")
    level = options["opt-level"]
    if level is not None and level not in _LEVELS:
        raise UsageError(f"'--opt-level' is 0 to {_LEVELS[-1]}, got {level}")
    if options["to"] is not None:
        for flag in ("emit", "stats", "report"):
            if options[flag]:
                raise UsageError(f"give either '--to' or '--{flag}', not both: nothing is compiled")
    return options


def usage() -> str:
    """Return the help text."""
    lines = [
        "usage: relax-compile [flags] [file]",
        "",
        "Compile a program into an executable that relax.VirtualMachine loads.",
        "The file is MLIR text or bytecode ('-' or nothing: standard input), or a TVMScript in a",
        "file that ends in .py, which is parsed and not executed.",
        "",
        "flags:",
        *table(FLAGS),
    ]
    return "\n".join(lines)
