"""The command line of relax-run."""

from collections.abc import Sequence

from relax_mlir.tools.common import loading
from relax_mlir.tools.common.arguments import Parser, between, one_of
from relax_mlir.tools.common.flags import Options

PRINTED = ("summary", "values", "none")
_DESCRIPTION = """\
Run a function of an executable, of a library, or of a program, which is compiled first.

An argument is NAME=WHAT, where WHAT is one of
  x.npy, x.npz:key           an array in a file
  random:1x3x224x224:float32 random numbers; shape and dtype may be left out: random,
  zeros:4x5, ones:4x5        random::int32 (integers: 0 to 9)
  shape:4x5                  a shape
  int:5, float:0.5, str:text a Python value
and NAME may be left out: arguments in order."""
_FILE = (
    "an .rxe or .so; or a program: MLIR text or bytecode ('-' or nothing: standard input), a "
    "TVMScript in a file that ends in .py, which is parsed and not executed, an .onnx or .pt2"
)


def parse(argv: Sequence[str]) -> Options:
    """Read a command line.

    Raises:
        UsageError: it is wrong.
        SystemExit: help was requested.
    """
    return _parser().parse(argv)


def _parser() -> Parser:
    parser = Parser("relax-run", _DESCRIPTION)
    add = parser.add_argument
    add("file", nargs="?", default="-", help=_FILE)
    add("--function", metavar="NAME", help="the function to run (default: main, or the only one)")
    parser.add_flag(loading.FLAG)
    add(
        "--input",
        action="append",
        metavar="NAME=WHAT",
        help="an argument, as above; those not given are random",
    )
    add(
        "--dim",
        action="append",
        metavar="NAME=SIZE",
        help="the size of a symbolic dimension of random arguments",
    )
    add(
        "--seed",
        type=between(0),
        default=0,
        metavar="NUMBER",
        help="seed of random arguments (default: 0)",
    )
    add(
        "--print",
        type=one_of(PRINTED),
        default="summary",
        metavar="WHAT",
        help="what to print of the results: summary, values or none (default: summary)",
    )
    add(
        "--output",
        metavar="FILE",
        help="write the results: .npz, or .npy for one tensor ('-': standard output)",
    )
    add(
        "--compare",
        metavar="MODEL",
        help="run an .onnx, .pt2 or StableHLO model in its own framework too, and compare results",
    )
    add("--benchmark", action="store_true", help="time calls and print percentiles")
    add(
        "--repeat",
        type=between(1),
        metavar="NUMBER",
        help="calls to time, or to profile (default: 100, or 10)",
    )
    add("--profile", action="store_true", help="print how long each kernel takes")
    add(
        "--builtins",
        action="store_true",
        help="with --profile, a row for each of the VM's own functions",
    )
    add("--no-peak", action="store_true", help="with --profile, no shares of the machine's peak")
    add("--trace", metavar="FILE", help="write a profile for Chrome's about:tracing or Perfetto")
    add("--perf-map", action="store_true", help="note native code for `perf`, in /tmp/perf-PID.map")
    add("--threads", type=between(1), metavar="NUMBER", help="most threads that a kernel may use")
    add(
        "--memory",
        type=one_of(("pooled", "naive")),
        metavar="KIND",
        help="how the VM takes memory: pooled or naive (default: pooled)",
    )
    add("--target", metavar="TEXT", help="what to compile a program for (default: this machine)")
    add(
        "--opt-level",
        type=between(0, 3),
        metavar="LEVEL",
        help="0 to 3: how much to optimise a program (default: 2)",
    )
    add("--weights", metavar="FILE", help="where the executable's safetensors file is now")
    add("--show", action="store_true", help="print the executable as text and exit")
    add("--info", action="store_true", help="print inputs, symbols, kernels and memory, and exit")
    add(
        "--list-functions",
        action="store_true",
        help="print the functions with their parameters and exit",
    )
    add("--version", action="store_true", help="show the version and exit")
    return parser
