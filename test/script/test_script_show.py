"""Scripts in colour, and where errors after the parser say that a line of script is wrong."""

from __future__ import annotations

import html
import io
import re
import sys

import numpy as np
import pytest

from relax_mlir import relax, transform
from relax_mlir.errors import RelaxMLIRError
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source, highlight

HEAD = "from relax_mlir.script import relax as R, tir as T\n"
TEXT = (
    HEAD
    + """
@R.function
def f(x: R.Tensor(("n", 2), "float32")):
    # doubled
    y = R.add(x, R.const(2.5, "float32"))
    for i in range(3):
        y = R.nn.relu(y)
    return y
"""
)


@pytest.fixture
def module() -> IRModule:
    return from_source(TEXT)


@pytest.mark.parametrize("text", [TEXT, "", "(", "x = '", "\x00", "é = λ\n", "a\r\nb", "\n\nx"])
def test_highlighting_changes_no_text(text: str) -> None:
    assert re.sub(r"\x1b\[[0-9;]*m", "", highlight.terminal(text)) == text
    page = html.unescape(re.sub(r"<[^>]*>", "", highlight.page(text)))
    assert page.removesuffix("\n") == text.removesuffix("\n")


def test_what_is_highlighted() -> None:
    page = highlight.page(TEXT)
    for word in ("for", "return", "# doubled", "2.5", "@R"):
        assert f"{word}</span>" in page


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals(
    module: IRModule, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    module.show()
    assert capsys.readouterr().out == module.script() + "\n"
    module.show(style="ansi")
    assert "\x1b[" in capsys.readouterr().out
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    module.show()
    assert "\x1b[" in terminal.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.truncate(0)
    module.show()
    assert "\x1b[" not in terminal.getvalue()
    with pytest.raises(ValueError, match="a style is 'ansi' or 'plain', got 'pink'"):
        module.show(style="pink")


def test_notebooks_get_html(module: IRModule) -> None:
    page = module._repr_html_()
    assert page.startswith("<pre")
    assert "def</span>" in page


# Lines of scripts in later errors


def run(body: str, *args: object) -> str:
    text = f'{HEAD}@R.function\ndef f(x: R.Tensor(("n",), "float32")):\n{body}'

    def build_and_run() -> None:
        vm = relax.VirtualMachine(relax.build(from_source(text, filename="net.py")))
        vm["f"](*args)

    with pytest.raises((RelaxMLIRError, ValueError)) as caught:
        build_and_run()
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


X = np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("    y = x\n    z = R.match_cast(y, R.Tensor((2,), 'float32'))\n    return z\n", 5),
        ("    y = x\n    R.assert_op(R.const(False))\n    return y\n", 5),
        ("    for i in range(2):\n        R.call_packed('test.no.such', x)\n    return x\n", 5),
        (
            "    y = R.call_dps_packed('test.dps', (x,), R.Tensor((n,)))\n"
            "    z = R.exp(y)\n    return z\n",
            4,
        ),
    ],
)
def test_errors_at_build_and_run_time(body: str, line: int) -> None:
    assert f"net.py:{line}" in run(body, X)


def test_errors_of_passes() -> None:
    text = f"{HEAD}@R.function\ndef f(x: R.Tensor(('n',), 'float32')):\n    return R.exp(x)\n"
    module = from_source(text, filename="net.py")
    with module.context:
        op = module["f"].mlir_op
        block = op.regions[0].blocks[0]
        block.operations[0].operation.attributes["odd"] = op.attributes["relax.params"]
    assert 'loc("net.py":4:12)' in module.as_text(debug_info=True)


def test_checks_name_the_line_of_the_signature() -> None:
    text = f"{HEAD}@R.function\ndef f(x: R.Tensor(('n', 'n'), 'float32')):\n    return x\n"
    vm = relax.VirtualMachine(relax.build(from_source(text, filename="net.py")))
    with pytest.raises(RelaxMLIRError, match=r"net\.py:3"):
        vm["f"](np.ones((2, 3), np.float32))


def test_lines_survive_passes() -> None:
    module = transform.LegalizeOps()(from_source(TEXT, filename="net.py"))
    text = module.as_text(debug_info=True)
    assert '"net.py":8' in text
