"""relax-reduce: reduces a module for which a test command fails."""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from relax_mlir.errors import RelaxMLIRError
from relax_mlir.tools.common import entry, loading
from relax_mlir.tools.common.arguments import Parser
from relax_mlir.tools.common.flags import Options

_DESCRIPTION = """Make a failing module smaller by removing functions, bindings, outputs and
parameters while a test command still fails on it; a reproducer keeps its pipeline. The command
gets the module's file where it says {}, or else at its end; it fails by an exit code other than
0."""


def main(argv: list[str] | None = None) -> int:
    """Run the tool and return its exit code: 0, 1 for an error, 130 when interrupted."""
    return entry.run(lambda: _main(_parser().parse(sys.argv[1:] if argv is None else argv)))


def _parser() -> Parser:
    parser = Parser("relax-reduce", _DESCRIPTION)
    parser.add_argument("file", help="MLIR, or a TVMScript in a .py; '-' is standard input")
    parser.add_argument("--test", required=True, metavar="COMMAND", help="the command that fails")
    parser.add_argument(
        "--expect", metavar="TEXT", help="its output must contain this: not any failure will do"
    )
    parser.add_argument("-o", metavar="FILE", help="where to write (default: standard output)")
    parser.add_argument(
        "--max-tests", type=int, default=2000, metavar="N", help="give up after so many"
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="a test that takes longer fails"
    )
    parser.add_flag(loading.FLAG)
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing on the way")
    return parser


def _main(options: Options) -> int:
    # Only now: `--help` needs no MLIR.
    from relax_mlir.dialects.context import make_context
    from relax_mlir.ir.module import IRModule
    from relax_mlir.pass_infra.text.reproducer import read_pipeline, with_pipeline
    from relax_mlir.tools.common import reading
    from relax_mlir.tools.common.streams import read
    from relax_mlir.tools.relax_reduce.reduction import reduce_module, size

    loading.load(options["load"] or ())
    source, context = read(options.file), make_context()
    module, diagnostics = reading.parse(source, context)
    text = source.text or ""
    pipeline = read_pipeline(text) if "mlir_reproducer" in text else None
    if pipeline is not None:
        diagnostics = [each for each in diagnostics if "'mlir_reproducer'" not in each.message]
    reading.report(source, diagnostics, context)
    if module is None:
        return 1
    mod = IRModule(module)

    def text_of(candidate: IRModule) -> str:
        text = str(candidate).rstrip()
        return f"{text}\n" if pipeline is None else with_pipeline(text, pipeline)

    log = (lambda line: None) if options["quiet"] else (lambda line: print(line, file=sys.stderr))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "candidate.mlir"

        def still_fails(candidate: IRModule) -> bool:
            path.write_text(text_of(candidate), encoding="utf-8")
            return _fails(options, path)

        if not still_fails(mod):
            raise RelaxMLIRError(
                f"the module does not fail to begin with: {_answer(options, path)}"
            )
        log(f"start: {size(mod)} operations")
        smaller = reduce_module(mod, still_fails, max_tests=options["max-tests"], log=log)
    text = text_of(smaller)
    if options["o"]:
        Path(options["o"]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _fails(options: Options, path: Path) -> bool:
    try:
        run = _run(options, path)
    except subprocess.TimeoutExpired:
        return options["expect"] is None
    if run.returncode == 0:
        return False
    return options["expect"] is None or options["expect"].encode() in run.stdout


def _answer(options: Options, path: Path) -> str:
    """Say in a line why a test command does not fail, or not as expected."""
    try:
        run = _run(options, path)
    except subprocess.TimeoutExpired:
        seconds = f"{options['timeout']:g} s"
        return f"the test command takes more than {seconds} and does not say the text"
    if run.returncode == 0:
        return "the test command exits with 0"
    said = run.stdout.decode(errors="replace").strip().splitlines()
    last = f"its last line is '{said[-1].strip()}'" if said else "it says nothing"
    missing = f"without saying '{options['expect']}'"
    return f"the test command fails ({run.returncode}) {missing}, and {last}"


def _run(options: Options, path: Path) -> "subprocess.CompletedProcess[bytes]":
    words = [word.replace("{}", str(path)) for word in shlex.split(options["test"])]
    if not words:
        raise RelaxMLIRError("the test command is empty")
    if "{}" not in options["test"]:
        words.append(str(path))
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=options["timeout"],
            check=False,
        )
    except OSError as error:
        raise RelaxMLIRError(f"cannot run '{words[0]}': {error.strerror or error}") from None


if __name__ == "__main__":
    sys.exit(main())
