"""Guides without a test of their own: their snippets run, in order."""

import contextlib
import io
import linecache
import re

import numpy as np
import onnx
import onnx.numpy_helper
from checkout import ROOT

from relax_mlir import relax, te
from relax_mlir.ir.module import IRModule

_SNIPPET = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def _run(guide: str) -> dict:
    namespace: dict = {"__name__": "guide"}
    snippets = _SNIPPET.findall((ROOT / "docs" / f"{guide}.md").read_text())
    assert snippets
    for number, source in enumerate(snippets, 1):
        # TVMScript reads the source of what it decorates.
        name = f"<docs/{guide}.md, snippet {number}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, name, "exec"), namespace)
    return namespace


def test_script() -> None:
    vm = relax.VirtualMachine(relax.build(_run("script")["Module"]))
    x = np.array([1, 2, 6], "f4")
    np.testing.assert_array_equal(vm["power"](x, 3), x**3)
    settled, turns = vm["settle"](x)
    np.testing.assert_array_equal(settled, x / 8)
    assert turns == 3
    np.testing.assert_array_equal(vm["apply"](x, np.array(True)), x * x + x)


def test_models() -> None:
    names = _run("models")
    x = np.random.default_rng(0).random((3, 64)).astype("f4")
    scores = x @ onnx.numpy_helper.to_array(names["weight"])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    want = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(names["model"](x), want, rtol=1e-5)


def test_viewing() -> None:
    names = _run("viewing")
    assert "softmax" in names["graph"].body
    assert "call_tir" in names["change"].body


def test_te() -> None:
    names = _run("te")
    x = np.random.default_rng(0).random((5, 7)).astype("f4")
    vm = relax.VirtualMachine(
        relax.build(
            IRModule(
                {
                    "share": te.create_prim_func([names["A"], names["out"]]),
                    "smooth": te.create_prim_func([names["X"], names["smooth"]]),
                }
            )
        )
    )
    out = np.empty_like(x)
    vm["smooth"](x, out)
    want = [x[0]]
    for row in x[1:]:
        want.append(want[-1] * 0.9 + row)
    np.testing.assert_allclose(out, want, rtol=1e-5)


def test_schedule() -> None:
    names = _run("schedule")
    a = np.random.default_rng(0).random((64, 64)).astype("f4")
    out = np.empty_like(a)
    relax.VirtualMachine(names["executable"])["main"](a, a, out)
    np.testing.assert_allclose(out, a @ a, rtol=1e-5)


def test_runtime() -> None:
    np.testing.assert_array_equal(np.asarray(_run("runtime")["y"]), np.arange(4) * 2.0)
