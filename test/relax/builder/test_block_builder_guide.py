"""docs/builder.md: every snippet runs, in order, and prints what stands under it."""

import contextlib
import io
import re

from checkout import ROOT

GUIDE = ROOT / "docs" / "builder.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def test_every_snippet() -> None:
    namespace = {"__name__": "guide"}
    blocks = _BLOCK.findall(GUIDE.read_text())
    assert len(blocks) >= 7
    for number, (source, expected) in enumerate(blocks, 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(source, f"<docs/builder.md, snippet {number}>", "exec"), namespace)
        assert out.getvalue().rstrip() == expected.rstrip(), f"snippet {number}:\n{source}"
