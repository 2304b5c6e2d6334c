"""The language server: definitions, uses, types, errors and completions for an editor."""

import importlib.metadata
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import TextDocument

from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.pass_infra import registry
from relax_mlir.tools.relax_lsp import definitions
from relax_mlir.tools.relax_lsp.definitions import Place, bare, name_at
from relax_mlir.tools.relax_lsp.documents import Analysis, analyze, completions

SERVER = LanguageServer("relax-lsp", importlib.metadata.version("relax-mlir"))
# By the document's address what was found when it had this text.
_ANALYSES: dict[str, tuple[str, Analysis]] = {}


def _document(uri: str) -> TextDocument:
    document = SERVER.workspace.get_text_document(uri)
    try:
        document.source  # noqa: B018 - reads the file, where no editor has it open.
    except (OSError, UnicodeDecodeError):
        return TextDocument(uri, "")
    return document


def _analysis(document: TextDocument) -> Analysis:
    known = _ANALYSES.get(document.uri)
    if known is None or known[0] != document.source:
        analysis = analyze(document.source, document.path)
        if analysis.problems and known is not None and not analysis.types:
            # While somebody types, types are those of what was right last.
            analysis.types = known[1].types
        known = _ANALYSES[document.uri] = document.source, analysis
    return known[1]


def _publish(uri: str) -> None:
    document = _document(uri)
    diagnostics = [
        lsp.Diagnostic(
            _range(each.line, each.start, each.end),
            each.message,
            severity=lsp.DiagnosticSeverity.Error,
            source="relax-mlir",
        )
        for each in _analysis(document).problems
    ]
    SERVER.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics))


@SERVER.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def _opened(params: lsp.DidOpenTextDocumentParams) -> None:
    _publish(params.text_document.uri)


@SERVER.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def _changed(params: lsp.DidChangeTextDocumentParams) -> None:
    _publish(params.text_document.uri)


@SERVER.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def _closed(params: lsp.DidCloseTextDocumentParams) -> None:
    _ANALYSES.pop(params.text_document.uri, None)


@SERVER.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def _definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
    return [*map(_location, definitions.definitions(_name(params), _folder(params)))]


@SERVER.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def _references(params: lsp.ReferenceParams) -> list[lsp.Location]:
    name = _name(params)
    return [*map(_location, definitions.references(name, _folder(params)))] if name else []


@SERVER.feature(lsp.TEXT_DOCUMENT_HOVER)
def _hover(params: lsp.HoverParams) -> lsp.Hover | None:
    document = _document(params.text_document.uri)
    name = _name(params)
    text = _analysis(document).type_of(name, params.position.line)
    text = f"{name}: {text}" if text else _summary(name)
    if not text:
        return None
    code = lsp.MarkupContent(lsp.MarkupKind.Markdown, f"```python\n{text}\n```")
    return lsp.Hover(code)


@SERVER.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))
def _completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    before = _text(params)[: params.position.character]
    kind = lsp.CompletionItemKind.Function
    return [lsp.CompletionItem(name, kind=kind, detail=text) for name, text in completions(before)]


def _summary(name: str) -> str:
    entry = registry.find(name)
    if entry is not None:
        return f"{entry.name}: {entry.summary}"
    operation = COMPUTE_OPS.get(bare(name))
    return "" if operation is None else f"relax.{bare(name)}: {operation.__doc__}"


# lsprotocol repeats the fields of TextDocumentPositionParams in each class.
_AtPosition = lsp.CompletionParams | lsp.DefinitionParams | lsp.HoverParams | lsp.ReferenceParams


def _text(params: _AtPosition) -> str:
    document = _document(params.text_document.uri)
    lines = document.lines
    return lines[params.position.line].rstrip("\n") if params.position.line < len(lines) else ""


def _name(params: _AtPosition) -> str:
    return name_at(_text(params), params.position.character)


def _folder(params: _AtPosition) -> Path:
    root = SERVER.workspace.root_path
    return Path(root or Path(to_fs_path(params.text_document.uri) or "").parent)


def _location(place: Place) -> lsp.Location:
    uri = from_fs_path(str(place.path)) or ""
    return lsp.Location(uri, _range(place.line, place.start, place.end))


def _range(line: int, start: int, end: int) -> lsp.Range:
    return lsp.Range(lsp.Position(line, start), lsp.Position(line, end))
