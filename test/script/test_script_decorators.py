"""Scripts as decorated Python: sources, surroundings, what is left to the class decorator."""

import linecache
import pickle
import subprocess
import sys

import numpy as np
import pytest

import relax_mlir
from relax_mlir import IRModule, relax, tir
from relax_mlir.errors import ScriptError
from relax_mlir.script import from_source
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T

SCALE = 3.0


def test_class_in_a_function_sees_its_surroundings() -> None:
    weights, width = np.ones((4, 2), "float32"), 4

    @I.ir_module
    class Module:
        @T.prim_func
        def scale(a: T.handle, b: T.handle):
            A = T.match_buffer(a, (n, width), "float32")
            B = T.match_buffer(b, (n, width), "float32")
            for i, j in T.grid(n, width):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] * SCALE

        @R.function
        def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 2), "float32"):
            with R.dataflow():
                y = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((n, 4), dtype="float32"))
                z = R.matmul(y, weights)
                R.output(z)
            return z

    assert isinstance(Module, relax_mlir.IRModule)
    text = str(Module.mlir_module)
    assert "3.000000e+00 : f32" in text
    assert "dense_resource<" in text


def test_a_function_alone() -> None:
    @R.function(private=True)
    def f(x: R.Tensor(("n",), "float32"), s: R.Shape(["n"])):
        return x + SCALE

    assert isinstance(f, relax.Function)
    assert "func.func private @f(" in str(f.module)

    @T.prim_func
    def g(A: T.Buffer((4,), "float32"), B: T.Buffer[(4,), "float32"]):
        for i in T.parallel(4):
            B[i] = A[i]

    assert isinstance(g, tir.PrimFunc)
    assert "@g(" in str(g.module)
    for each in (f, g):
        assert "def " in str(each)
        assert each.name in each._repr_html_()
        assert isinstance(IRModule({"h": each})["h"], type(each))
        assert relax_mlir.ir.structural_equal(pickle.loads(pickle.dumps(each)), each)


def test_errors_point_into_this_file() -> None:
    with pytest.raises(ScriptError) as caught:

        @R.function
        def f(x: R.Tensor(("n",), "float32")):
            y = R.exq(x)
            return y

    error = caught.value
    assert error.filename == __file__
    assert error.source_line.strip() == "y = R.exq(x)"
    assert error.source_line[error.col_offset : error.end_col_offset] == "R.exq"


def test_source_that_exists_only_in_linecache(tmp_path) -> None:
    text = "@R.function\ndef f(x: R.Tensor((3,), 'float32')):\n    return x\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
    scope = {"R": R}
    exec(compile(text, "<cell 1>", "exec"), scope)
    assert "tensor<3xf32>" in str(scope["f"].module)


def test_source_that_is_not_available() -> None:
    text = "@R.function\ndef f(x: R.Tensor((3,), 'float32')):\n    return x\n"
    with pytest.raises(ScriptError, match=r"the source of 'f' is not available; .*from_source"):
        exec(compile(text, "<nowhere>", "exec"), {"R": R})


def test_deferred_annotations(tmp_path) -> None:
    text = (
        "from __future__ import annotations\n"
        "from relax_mlir.script import ir as I, relax as R, tir as T\n"
        "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Tensor[(n, k), 'f32']):\n"
        "        return x\nprint(M.mlir_module)\n"
    )
    path = tmp_path / "deferred.py"
    path.write_text(text)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert 'tensor<?x?xf32, #relax.dims<["k", "n"]' in done.stdout


def test_importing_the_namespaces_loads_no_mlir() -> None:
    code = (
        "import sys\nfrom relax_mlir.script import ir, relax, tir, from_source\n"
        "relax.Tensor(('n', 4), 'float32'), tir.handle, relax.Tensor[3, 4]\n"
        "assert not {'torch_mlir', 'mlir', 'llvmlite'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_text_is_never_executed() -> None:
    text = (
        "import os\nfrom relax_mlir.script import relax as R\nraise SystemExit\n"
        "@R.function\ndef f(x: R.Tensor((3,), 'float32')):\n    return x\n"
    )
    assert "tensor<3xf32>" in str(from_source(text).mlir_module)


def test_text_without_a_definition() -> None:
    with pytest.raises(ScriptError, match="defines no"):
        from_source("x = 1\n")
