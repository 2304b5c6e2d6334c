"""relax-lsp, asked by a client."""

import asyncio
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from relax_mlir.tools.relax_lsp.definitions import bare, definitions, name_at, references
from relax_mlir.tools.relax_lsp.documents import analyze, completions

PROGRAM = """\
import numpy as np
from relax_mlir import register_func, relax
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

weight = np.ones((4, 4), "float32")


@register_func("demo.scale")
def scale(x):
    return 2 * x


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            y = R.nn.softmax(x, axis=-1)
            R.output(y)
        z = R.call_packed("demo.scale", y)
        return y


passes = [relax.transform.FuseKernels(), "fuse-kernels"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(PROGRAM)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "hidden.py").write_text('register_func("demo.scale")')
    return tmp_path


def line_of(text: str) -> int:
    return next(i for i, line in enumerate(PROGRAM.splitlines()) if text in line)


def test_names_around_a_column() -> None:
    line = '    z = R.call_packed("demo.scale", y)'
    assert name_at(line, line.index("scale")) == "demo.scale"
    assert name_at(line, line.index("packed")) == "R.call_packed"
    assert name_at(line, 0) == ""
    assert bare("relax.op.nn.softmax") == bare("R.nn.softmax") == bare("relax.softmax") == "softmax"


def test_definitions_of_packed_functions_passes_and_operators(project: Path) -> None:
    (place,) = definitions("demo.scale", project)
    assert (place.path, place.line) == (project / "model.py", line_of("@register_func"))
    for name in ("relax.transform.FuseKernels", "FuseKernels", "fuse-kernels"):
        (place,) = definitions(name, project)
        assert place.path.name == "fuse_kernels.py"
    found = {place.path.parent.name for place in definitions("R.nn.softmax", project)}
    assert found == {"ops", "relax_to_tir"}
    for name, file in (("R.call_packed", "relax.pyi"), ("T.axis.remap", "tir.pyi")):
        (place,) = definitions(name, project)
        assert place.path.name == file
    assert definitions("no.such.name", project) == definitions("R.nothing", project) == []


def test_uses_of_a_name(project: Path) -> None:
    lines = [place.line for place in references("demo.scale", project)]
    assert lines == [line_of("@register_func"), line_of("R.call_packed")]
    # Under its name and under its flag.
    assert len(references("FuseKernels", project)) == 2


def test_errors_and_types_of_a_file() -> None:
    right = analyze(PROGRAM, "model.py")
    assert right.problems == []
    assert right.type_of("y", line_of("R.output")) == 'R.Tensor((n, 4), "float32")'
    assert right.type_of("nothing", 3) == ""
    wrong = analyze(PROGRAM.replace("softmax(x", "sofmax(x"), "model.py")
    (problem,) = wrong.problems
    assert "sofmax" in problem.message
    assert problem.line == line_of("softmax")
    assert problem.end > problem.start > 0


def test_what_python_computes_is_no_error() -> None:
    text = PROGRAM.replace("softmax(x, axis=-1)", "softmax(R.matmul(x, R.const(weight)), axis=-1)")
    assert analyze(text, "model.py").problems == []
    (problem,) = analyze(text.replace("const(weight)", "const(weigth)"), "model.py").problems
    assert "weigth" in problem.message


@pytest.mark.parametrize("text", ["", "def f(:", "\0", "@I.ir_module\nclass M:\n  pass", "x = 1"])
def test_any_text_has_an_answer(text: str) -> None:
    analyze(text, "model.py")
    analyze(text, "model.mlir")


def test_mlir_has_errors_with_a_place() -> None:
    (problem,) = analyze('func.func @f() {\n  "relax.nothing"()\n}', "a.mlir").problems
    assert problem.line == 1


def test_completions() -> None:
    names = dict(completions("        y = R.nn.soft"))
    assert {"softmax", "softplus"} <= names.keys()
    assert names["softmax"].startswith("def softmax(")
    assert "matmul" in dict(completions("R.mat"))
    assert "exp" in dict(completions("Y[i] = T.e"))
    assert completions("y = foo.") == []
    assert completions("R.nothing.x") == []


class _Editor:
    """A client of a running server."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("editor", "1")
        self.published: list[lsp.PublishDiagnosticsParams] = []

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def receive(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.append(params)

        self.uri = (folder / "model.py").as_uri()
        self.folder = folder

    def ask(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, 60))

    def start(self) -> None:
        command = [sys.executable, "-m", "relax_mlir.tools.relax_lsp", "--stdio"]
        self.ask(self.client.start_io(*command))
        capabilities = lsp.ClientCapabilities()
        self.ask(
            self.client.initialize_async(
                lsp.InitializeParams(capabilities, root_uri=self.folder.as_uri())
            )
        )
        self.client.initialized(lsp.InitializedParams())

    def write(self, text: str, version: int) -> list[lsp.Diagnostic]:
        count = len(self.published)
        if version == 1:
            item = lsp.TextDocumentItem(self.uri, lsp.LanguageKind.Python, version, text)
            self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        else:
            document = lsp.VersionedTextDocumentIdentifier(version, self.uri)
            change = lsp.TextDocumentContentChangeWholeDocument(text)
            self.client.text_document_did_change(
                lsp.DidChangeTextDocumentParams(document, [change])
            )

        async def answered() -> None:
            while len(self.published) == count:
                await asyncio.sleep(0.02)

        self.ask(answered())
        return list(self.published[-1].diagnostics)

    def place(self, text: str, offset: int = 0) -> dict:
        line = line_of(text)
        column = PROGRAM.splitlines()[line].index(text) + offset
        return {
            "text_document": lsp.TextDocumentIdentifier(self.uri),
            "position": lsp.Position(line, column),
        }

    def stop(self) -> None:
        self.ask(self.client.shutdown_async(None))
        self.client.exit(None)
        self.ask(self.client.stop())
        self.loop.close()


@pytest.fixture
def editor(project: Path) -> Iterator[_Editor]:
    editor = _Editor(project)
    editor.start()
    yield editor
    editor.stop()


@pytest.mark.slow
def test_a_client_is_answered(editor: _Editor, project: Path) -> None:
    client = editor.client
    assert editor.write(PROGRAM, 1) == []
    (problem,) = editor.write(PROGRAM.replace("softmax", "sofmax"), 2)
    assert problem.range.start.line == line_of("softmax")
    assert editor.write(PROGRAM, 3) == []
    place = editor.place('"demo.scale", y', 3)
    (found,) = editor.ask(client.text_document_definition_async(lsp.DefinitionParams(**place)))
    assert found.uri == editor.uri
    assert found.range.start.line == line_of("@register_func")
    context = lsp.ReferenceContext(include_declaration=True)
    uses = editor.ask(
        client.text_document_references_async(lsp.ReferenceParams(context=context, **place))
    )
    assert len(uses) == 2
    hover = editor.ask(
        client.text_document_hover_async(lsp.HoverParams(**editor.place("y = R.nn")))
    )
    assert 'y: R.Tensor((n, 4), "float32")' in hover.contents.value
    hover = editor.ask(client.text_document_hover_async(lsp.HoverParams(**editor.place("softmax"))))
    assert "relax.softmax: " in hover.contents.value
    items = editor.ask(
        client.text_document_completion_async(
            lsp.CompletionParams(**editor.place("R.nn.softmax", len("R.nn.soft")))
        )
    )
    assert "softmax" in [item.label for item in items]


def test_a_wrong_command_line_is_one_line() -> None:
    command = [sys.executable, "-m", "relax_mlir.tools.relax_lsp", "--stdoi"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["missing.py", "latin.py"])
@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_empty(editor: _Editor, project: Path, name: str) -> None:
    (project / "latin.py").write_bytes(b"\xff")
    document = lsp.TextDocumentIdentifier((project / name).as_uri())
    at = {"text_document": document, "position": lsp.Position(3, 2)}
    client = editor.client
    hover = editor.ask(client.text_document_hover_async(lsp.HoverParams(**at)))
    places = editor.ask(client.text_document_definition_async(lsp.DefinitionParams(**at)))
    items = editor.ask(client.text_document_completion_async(lsp.CompletionParams(**at)))
    assert not hover
    assert not places
    assert not items
