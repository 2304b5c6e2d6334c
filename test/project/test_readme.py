"""The documents: what they run gives the output shown, links lead somewhere, lists are whole."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from checkout import ROOT

from relax_mlir.compiler.pipeline import DEFAULT_PIPELINE

README = ROOT / "README.md"
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks" / "README.md"]
)
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_CODE = re.compile(r"`[^`\n]*`")
_RUNNABLE = ("python", "console")


@dataclass
class Example:
    """A program or a command, and what the document says comes out."""

    kind: str
    code: str
    output: str
    place: str
    # What the programs that this one continues have written already.
    before: str = ""


def read_examples(document: str) -> list[Example]:
    """Return what can be run: a console's output follows each command, a program's in a text block.

    A program that imports nothing continues the one before it.
    """
    text = (ROOT / document).read_text()
    examples: list[Example] = []
    for fence in _FENCE.finditer(text):
        kind, body = fence.groups()
        place = f"{document}:{text.count(chr(10), 0, fence.start()) + 1}"
        if kind == "console":
            command, _, output = body.partition("\n")
            examples.append(Example(kind, command.removeprefix("$ "), output, place))
        elif kind == "python":
            new = Example(kind, body, "", place)
            if not re.search(r"^(import|from) ", body, re.M):
                last = examples[-1]
                new.code, new.before = last.code + body, last.before + last.output
            examples.append(new)
        elif kind == "text":
            examples[-1].output = body
    return examples


def run(example: Example, folder: Path) -> str:
    """Return what an example writes, a traceback cut down to its last part."""
    if example.kind == "python":
        program = folder / "program.py"
        program.write_text(example.code)
        command = [sys.executable, str(program)]
    else:
        tool = rf"{shlex.quote(sys.executable)} -m relax_mlir.tools.relax_\1"
        command = ["sh", "-c", re.sub(r"(?<![\w/])relax-(opt|compile)", tool, example.code)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output = done.stdout.replace(f"{folder}/", "")
    return re.sub(r"(?s)Traceback \(most.*\n(?=\w*\.\w)", "", output)


EXAMPLES = [
    example
    for document in ("README.md", "docs/tools.md")
    for example in read_examples(document)
    if example.kind in _RUNNABLE
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.place)
@pytest.mark.slow
def test_output_is_what_the_document_shows(example: Example, tmp_path: Path) -> None:
    if "mlir-opt-22" in example.code and shutil.which("mlir-opt-22") is None:
        pytest.skip("no mlir-opt-22")
    assert run(example, tmp_path).split() == (example.before + example.output).split()


def test_there_are_examples() -> None:
    assert [e.kind for e in EXAMPLES].count("python") >= 2
    assert [e.kind for e in EXAMPLES].count("console") >= 4


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files(document: str) -> None:
    text = (ROOT / document).read_text()
    links = re.findall(r"\]\((?!https?:)([^)#]+)", _CODE.sub("", _FENCE.sub("", text)))
    assert not [link for link in links if not ((ROOT / document).parent / link).exists()]


def test_readme_names_the_command_that_ci_runs() -> None:
    command = (ROOT / ".ci" / "run").read_text().split()[-2:]
    assert " ".join(command) in README.read_text()


def test_design_names_every_stage_of_a_build() -> None:
    text = (ROOT / "docs" / "design" / "README.md").read_text()
    assert not [name for name in DEFAULT_PIPELINE if name not in text]


_PATH = re.compile(r"`((?:benchmarks|dialects|docs|examples|lowering|relax_mlir|test)/[\w./-]*)`")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_exist(document: str) -> None:
    paths = _PATH.findall((ROOT / document).read_text())
    assert not [path for path in paths if not (ROOT / path).exists()]
