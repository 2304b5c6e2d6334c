"""Operations on images in blocks of channels do what they do on whole axes, in blocks."""

from typing import Any

import numpy as np
import pytest
from programs import Program
from samples import check, sample

from relax_mlir.errors import RelaxMLIRError

pytestmark = pytest.mark.unoptimized

# Operation, shapes on whole axes, layouts of the operands and of the result, attributes.
CASES: list[tuple[str, list[tuple[int, ...]], list[str], str, dict[str, Any]]] = [
    ("conv2d", [(2, 8, 5, 7), (12, 8, 3, 3)], ["NCHW4c", "OIHW4i"], "NHWC6c", {"padding": [1]}),
    ("conv2d", [(1, 8, 5, 5), (8, 4, 3, 3)], ["NHWC", "OIHW4i2o"], "NCHW2c", {"groups": 2}),
    ("conv1d", [(3, 4, 9), (6, 4, 2)], ["NCW", "OIW"], "NCW3c", {"strides": [2]}),
    (
        "conv2d_transpose",
        [(1, 4, 3, 4), (4, 6, 2, 3)],
        ["NCHW2c", "IOHW"],
        "NCHW",
        {"strides": [2]},
    ),
    ("max_pool2d", [(2, 6, 5, 7)], ["NCHW3c"], "NHWC", {"pool_size": [2, 3]}),
    ("avg_pool3d", [(1, 4, 3, 4, 5)], ["NCDHW2c"], "", {"pool_size": [2], "padding": [1]}),
    ("adaptive_avg_pool2d", [(2, 4, 5, 7)], ["NCHW4c"], "NCHW2c", {"output_size": [2, 3]}),
]
PLAIN = {"conv1d": ["NCW", "OIW"], "avg_pool3d": ["NCDHW"], "conv2d_transpose": ["NCHW", "IOHW"]}


def _split(x: np.ndarray, plain: str, layout: str) -> np.ndarray:
    """Return an array with the last axes of a layout such as `NHWC4c` split off, one by one."""
    letters = "".join(filter(str.isupper, layout))
    x = x.transpose([plain.index(letter) for letter in letters])
    blocks = layout[len(letters) :]
    for size, inner in zip(blocks[::2], blocks[1::2], strict=True):
        axis = letters.index(inner.upper())
        x = x.reshape(*x.shape[:axis], -1, int(size), *x.shape[axis + 1 :])
        x = np.moveaxis(x, axis + 1, -1)
    return np.ascontiguousarray(x)


def _attributes(op: str, layouts: list[str], result: str) -> dict[str, Any]:
    names = ["data_layout", "kernel_layout"] if op.startswith("conv") else ["layout"]
    out = {"out_layout": result} if result else {}
    return dict(zip(names, layouts, strict=True)) | out


def test_blocked_layouts() -> None:
    program, expected = Program(), []
    for index, (op, shapes, layouts, result, attrs) in enumerate(CASES):
        plain = PLAIN.get(op, ["NCHW", "OIHW"][: len(shapes)])
        arrays = [sample(shape, "float32", seed) for seed, shape in enumerate(shapes)]
        blocked = [_split(*item) for item in zip(arrays, plain, layouts, strict=True)]
        known = [(x.shape, "float32") for x in blocked]
        dynamic = [(["n", *blocked[0].shape[1:]], "float32"), *known[1:]]
        written = _attributes(op, layouts, result) | attrs
        program.op(f"plain{index}", op, *[(shape, "float32") for shape in shapes], **attrs)
        for name, types in (
            ("known", known), ("dynamic", dynamic), ("unknown", [(None, "")] * len(shapes)),
        ):  # fmt: skip
            program.op(f"{name}{index}", op, *types, **written)
        expected.append((arrays, blocked, plain[0], result or layouts[0]))
    vm = program.build()
    for index, (arrays, blocked, plain, layout) in enumerate(expected):
        wanted = _split(np.asarray(vm[f"plain{index}"](*arrays)), plain, layout)
        for kind in ("known", "dynamic", "unknown"):
            got = vm[f"{kind}{index}"](*blocked)
            check(got, wanted, ulps=16, scale=99, what=(kind, CASES[index]))


def test_resize_in_blocks() -> None:
    from relax_mlir import relax
    from relax_mlir.relax import op
    from relax_mlir.script import relax as R

    x = sample((1, 8, 3, 5), "float32")
    builder = relax.BlockBuilder()
    for name, shape, layout in (
        ("plain", (1, 8, 3, 5), "NCHW"),
        ("blocks", (1, 2, 3, 5, 4), "NCHW4c"),
    ):
        data = relax.Var("x", R.Tensor(shape, "float32"))
        with builder.function(name, [data]):
            made = builder.emit(op.image.resize2d(data, (6, 4), layout=layout))
            builder.emit_func_output(made)
    vm = relax.VirtualMachine(relax.build(builder.get()))
    wanted = _split(np.asarray(vm["plain"](x)), "NCHW", "NCHW4c")
    check(vm["blocks"](_split(x, "NCHW", "NCHW4c")), wanted, ulps=0)


def test_blocks_of_another_size_are_an_error_at_run_time() -> None:
    program = Program()
    program.op("f", "max_pool2d", (["n", "c", 4, 4, "b"], "float32"), layout="NCHW4c")
    vm = program.build()
    assert vm["f"](np.zeros((1, 2, 4, 4, 4), "float32")).shape == (1, 2, 4, 4, 4)
    with pytest.raises(RelaxMLIRError):
        vm["f"](np.zeros((1, 2, 4, 4, 3), "float32"))
