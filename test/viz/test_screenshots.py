"""The pictures in docs/viewing.md, made of the program there by a browser.

`RELAX_MLIR_SCREENSHOTS=1 .venv/bin/pytest test/viz/test_screenshots.py` writes them anew.
"""

import linecache
import os
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from relax_mlir import viz
from relax_mlir.viz import picture

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "viewing.md"
IMAGES = ROOT / "docs" / "images"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Searches, and opens what is known of the node that is found.
CLICKED = """<script>
document.getElementById("search").value = "softmax";
document.getElementById("search").dispatchEvent(new Event("input"));
nodes[3].dispatchEvent(new Event("click"));
</script></body>"""
SIZES = {"graph": (180, 230), "diff": (980, 460), "report-page": (1100, 520)}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Return the pages by the names of their pictures."""
    snippet = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    assert snippet is not None
    path = "model.py"
    names: dict[str, Any] = {}
    linecache.cache[path] = (len(snippet[1]), None, snippet[1].splitlines(keepends=True), path)
    exec(compile(snippet[1], path, "exec"), names)
    graph, change = names["graph"], names["change"]
    page = viz.report_page(names["Model"])
    return {
        "graph": picture.page(graph.title, graph.body),
        "diff": picture.page(change.title, change.body),
        "report-page": page.replace("</body>", CLICKED),
    }


def pixels(png: bytes) -> tuple[int, int, bytes]:
    """Return width, height and the (filtered) rows of a PNG file."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    return width, height, zlib.decompress(data)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("name", SIZES)
def test_the_page_is_drawn(name: str, pages: dict[str, str], tmp_path: Path) -> None:
    source = tmp_path / "page.html"
    source.write_text(pages[name])
    path = (IMAGES if os.environ.get("RELAX_MLIR_SCREENSHOTS") else tmp_path) / f"{name}.png"
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    size = "--window-size={},{}".format(*SIZES[name])
    subprocess.run(
        [*command, size, f"--screenshot={path}", source.as_uri()],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    width, height, rows = pixels(path.read_bytes())
    assert (width, height) == SIZES[name]
    # Not of one colour: something was drawn.
    assert len(set(rows)) > 8


@pytest.mark.parametrize("name", SIZES)
def test_the_guide_shows_it(name: str) -> None:
    assert f"(images/{name}.png)" in GUIDE.read_text()
    assert (IMAGES / f"{name}.png").stat().st_size < 150_000
