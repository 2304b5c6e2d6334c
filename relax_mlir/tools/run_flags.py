"""The command line of relax-run."""

from collections.abc import Sequence

from relax_mlir.errors import did_you_mean
from relax_mlir.tools.flags import Flag, Options, UsageError, scan, table

PRINTED = ("summary", "values", "none")

FLAGS = (
    Flag("function", "The function to run (default: main, or the only one)", "name"),
    Flag("input", "An argument, as above; those not given are random", "name=what", repeated=True),
    Flag("dim", "The size of a symbolic dimension of random arguments", "name=size", repeated=True),
    Flag("seed", "Seed of random arguments (default: 0)", "number", int),
    Flag("print", "What to print of the results: summary, values or none", "what"),
    Flag(
        "output", "Write the results: .npz, or .npy for one tensor ('-': standard output)", "file"
    ),
    Flag("benchmark", "Time calls and print percentiles"),
    Flag("repeat", "Calls to time, or to profile (default: 100, or 10)", "number", int),
    Flag("profile", "Print how long each kernel takes"),
    Flag("builtins", "With --profile, a row for each of the VM's own functions"),
    Flag("no-peak", "With --profile, no shares of the machine's peak"),
    Flag("trace", "Write a profile for Chrome's about:tracing or Perfetto", "file"),
    Flag("perf-map", "Note native code for `perf`, in /tmp/perf-PID.map"),
    Flag("threads", "Most threads that a kernel may use", "number", int),
    Flag("memory", "How the VM takes memory: pooled or naive (default: pooled)", "kind"),
    Flag("target", "What to compile a program for (default: this machine)", "text"),
    Flag("opt-level", "0 to 3: how much to optimise a program (default: 2)", "level", int),
    Flag("weights", "Where the executable's safetensors file is now", "file"),
    Flag("show", "Print the executable as text and exit"),
    Flag("list-functions", "Print the functions with their parameters and exit"),
    Flag("help", "Show this text and exit"),
    Flag("version", "Show the version and exit"),
)
_POSITIVE = ("repeat", "threads")
_LEVELS = range(4)


def parse(argv: Sequence[str]) -> Options:
    """Read a command line.

    Raises:
        UsageError: it is wrong.
    """
    options = scan(argv, FLAGS)
    for name in _POSITIVE:
        if options[name] is not None and options[name] < 1:
            raise UsageError(f"'--{name}' must be 1 or more, got {options[name]}")
    printed = options["print"] or PRINTED[0]
    if printed not in PRINTED:
        hint = did_you_mean(printed, PRINTED) or f"; there are {', '.join(PRINTED)}"
        raise UsageError(f"'--print' cannot be '{printed}'{hint}")
    level = options["opt-level"]
    if level is not None and level not in _LEVELS:
        raise UsageError(f"'--opt-level' is 0 to {_LEVELS[-1]}, got {level}")
    if options["memory"] not in (None, "pooled", "naive"):
        raise UsageError(f"'--memory' is pooled or naive, got '{options['memory']}'")
    return options


def usage() -> str:
    """Return the help text."""
    lines = [
        "usage: relax-run [flags] [file]",
        "",
        "Run a function of an executable (.rxe), of a library (.so), or of a program, which is",
        "compiled first: MLIR text or bytecode ('-' or nothing: standard input), or a TVMScript in",
        "a file that ends in .py, which is parsed and not executed.",
        "",
        "An argument is name=what, where `what` is one of",
        "  x.npy, x.npz:key           an array in a file",
        "  random:1x3x224x224:float32 random numbers; shape and dtype may be left out: random,",
        "  zeros:4x5, ones:4x5        random::int32 (integers: 0 to 9)",
        "  shape:4x5                  a shape",
        "  int:5, float:0.5, str:text a Python value",
        "and name may be left out: arguments in order.",
        "",
        "flags:",
        *table(FLAGS),
    ]
    return "\n".join(lines)
