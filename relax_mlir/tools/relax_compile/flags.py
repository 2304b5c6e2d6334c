"""The command line of relax-compile: relax.build's arguments, and flags of relax-opt."""

from collections.abc import Sequence

from relax_mlir.tools.common import loading
from relax_mlir.tools.common.arguments import Parser, between, one_of
from relax_mlir.tools.common.flags import Options, UsageError
from relax_mlir.tools.relax_opt import flags

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
_DESCRIPTION = "Compile a program into an executable that relax.VirtualMachine loads."
_FILE = (
    "MLIR text or bytecode ('-' or nothing: standard input), of our dialects or upstream's; a "
    "TVMScript in a file that ends in .py, which is parsed and not executed; an .onnx or a .pt2"
)


def parse(argv: Sequence[str]) -> Options:
    """Read a command line.

    Raises:
        UsageError: it is wrong.
        SystemExit: help was requested.
    """
    options = _parser().parse(argv)
    if options["to"] is not None:
        for flag in ("emit", "stats", "report", "view"):
            if options[flag]:
                raise UsageError(f"give either '--to' or '--{flag}', not both: nothing is compiled")
    return options


def _parser() -> Parser:
    parser = Parser("relax-compile", _DESCRIPTION)
    add = parser.add_argument
    add("file", nargs="?", default="-", help=_FILE)
    add("-o", metavar="FILE", help="where to write (default: the input's name, another suffix)")
    add(
        "--shape",
        action="append",
        metavar="NAME=SIZES",
        help="the shape of an input of a model: x=1,3,n,n, with names of symbols",
    )
    add(
        "--emit",
        type=one_of(KINDS),
        metavar="KIND",
        help="what to write: exe, obj, asm or llvm (default: exe)",
    )
    add(
        "--target",
        metavar="TEXT",
        help="what to compile for, such as 'llvm -mcpu=x86-64-v3' (default: this machine)",
    )
    add(
        "--opt-level",
        type=between(0, 3),
        metavar="LEVEL",
        help="0 to 3: how much to optimise (default: 2)",
    )
    add(
        "--disable-pass",
        action="append",
        metavar="NAMES",
        help="leave out these passes, separated by commas",
    )
    add(
        "--required-pass",
        action="append",
        metavar="NAMES",
        help="run these passes whatever the level, separated by commas",
    )
    add(
        "--pass-config",
        action="append",
        metavar="KEY=VALUE",
        help="set an option of the PassContext",
    )
    parser.add_flag(loading.FLAG)
    add(
        "--pipeline",
        metavar="NAMES",
        help="run these passes, separated by commas, instead of the default ones",
    )
    add("--list-stages", action="store_true", help="list the passes that would run and exit")
    add(
        "--to",
        metavar="STAGE",
        help="print the program as it is after this pass, and do not compile",
    )
    add(
        "--dump-ir-dir",
        metavar="FOLDER",
        help="write the program after each stage to files in this folder",
    )
    add(
        "--time-passes", action="store_true", help="report the time of each stage to standard error"
    )
    for flag in flags.FLAGS:
        if flag.name in SHARED:
            parser.add_flag(flag)
    add(
        "--print-ir-after-change",
        action="store_true",
        help="print the IR after each pass that changed it",
    )
    add(
        "--crash-reproducer",
        metavar="FILE",
        help="write the IR before a pass that fails, for relax-opt",
    )
    add(
        "--stats",
        action="store_true",
        help="report what is in the executable, and sizes, to standard error",
    )
    add(
        "--report",
        action="store_true",
        help="report each kernel, its class and how near its limit, to standard error",
    )
    add(
        "--view",
        metavar="FILE.html",
        help="write a page with the graph of kernels, their code, and how near their limits",
    )
    add(
        "--report-size",
        action="append",
        metavar="n=128,m=64",
        help="sizes that kernels are run with, separated by commas",
    )
    add("--quiet", action="store_true", help="do not warn of kernels without a fast path")
    add("--version", action="store_true", help="show the versions and exit")
    return parser
