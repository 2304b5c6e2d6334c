"""Hooks of mkdocs: generated pages, pages from outside of docs/, links to the source."""

import re
import shutil
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import api_pages
import dialect_pages
import pass_pages

ROOT = Path(__file__).resolve().parents[2]
# Pages of the site that have their text elsewhere in the repository.
OUTSIDE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "benchmarks.md": "benchmarks/README.md",
}
_LINK = re.compile(r"(!?)\[([^\]\[]*)\]\(([^)#\s]*)(#[^)]*)?\)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LOGGER = get_plugin_logger("site")


def on_startup(**_: str | bool) -> None:
    """Lay out the package as it is installed: readers of source text do not know the mapping.

    mkdocstrings drops search paths that do not exist when it is configured, hence this early.
    """
    copy = ROOT / "build" / "docs-source" / "relax_mlir"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "relax_mlir", copy)
    for layer in ("dialects", "lowering"):
        shutil.copytree(ROOT / layer, copy / layer)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages of the API to the navigation."""
    config.nav.append({"API": [{name: api_pages.path_of(name)} for name in api_pages.PACKAGES]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and those from outside of docs/."""
    made = {**dialect_pages.pages(), **pass_pages.pages(), **api_pages.pages()}
    made |= {page: (ROOT / source).read_text() for page, source in OUTSIDE.items()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at pages of the site; links to files of the source become their names."""
    path = page.file.src_uri
    source = ROOT / OUTSIDE.get(path, f"docs/{path}")
    pages = {ROOT / outside: name for name, outside in OUTSIDE.items()}

    def replace(match: re.Match[str]) -> str:
        mark, text, target, anchor = match.groups(default="")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        file = (source.parent / target).resolve()
        if not file.exists():
            _LOGGER.warning("%s links to %s, which is not there", source, target)
            return text
        if file.is_dir() and (file / "README.md").exists():
            file /= "README.md"
        name = pages.get(file)
        if name is None and file.is_relative_to(ROOT / "docs"):
            name = file.relative_to(ROOT / "docs").as_posix()
        if name is None:
            return text
        return f"{mark}[{text}]({'../' * path.count('/')}{name}{anchor})"

    pieces, end = [], 0
    for fence in _FENCE.finditer(markdown):
        pieces += [_LINK.sub(replace, markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*pieces, _LINK.sub(replace, markdown[end:])])
