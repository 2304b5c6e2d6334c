"""relax.analysis.suggest_layout_transforms: maps of blocks and buffers."""

import pytest

from relax_mlir import ir, tir
from relax_mlir.errors import ExprTypeError, ScheduleValueError
from relax_mlir.relax import analysis
from relax_mlir.script import from_source


def prim_func(parameters, body, prelude=""):
    buffers = ", ".join(
        f'{name}: T.Buffer(({shape}), "float32")' for name, shape in parameters.items()
    )
    lines = "\n    ".join([*prelude.splitlines(), *body.strip("\n").splitlines()])
    return from_source(f"@T.prim_func\ndef main({buffers}):\n    {lines}\n")["main"]


def block(name, extents, kinds, statement, init=""):
    """Return the text of loops around a block of iterators v0, v1, ..."""
    loops = ", ".join(f"i{i}" for i in range(len(extents)))
    variables = ", ".join(f"v{i}" for i in range(len(extents)))
    begin = f"\n        with T.init():\n            {init}" if init else ""
    return f"""
for {loops} in T.grid({", ".join(map(str, extents))}):
    with T.block("{name}"):
        {variables} = T.axis.remap("{kinds}", [{loops}]){begin}
        {statement}"""


def applied(func, transforms):
    """Return a function after what is suggested, and the names of what that is for."""
    found = analysis.suggest_layout_transforms(func, transforms)
    schedule = tir.Schedule(func)
    for each, maps in found.items():
        for what, index_map in maps.items():
            if isinstance(what, tir.Block):
                schedule.transform_block_layout(what.name_hint, index_map)
            else:
                assert tir.is_buffer_var(what)
                schedule.transform_layout(each.name_hint, what, index_map)
    names = {
        each.name_hint: sorted(what.name for what in maps if isinstance(what, tir.Buffer))
        for each, maps in found.items()
    }
    return schedule.mod["main"], names


def blocked(n, c):
    return n, c // 4, c % 4


def last(n, c, h):
    return n, h, c


def test_spatial_and_reduction_iterators():
    """Indices of what the output lacks keep their places; `sum` is written in two statements."""
    func = prim_func(
        {"x": "3, 5, 8, 7", "y": "3, 8"},
        block("sum", (3, 5, 8, 7), "SRSR", "y[v0, v2] = y[v0, v2] + x[v0, v1, v2, v3]",
              "y[v0, v2] = T.float32(0)"),
    )  # fmt: skip
    after, names = applied(func, [blocked])
    expected = prim_func(
        {"x": "3, 5, 2, 7, 4", "y": "3, 2, 4"},
        block("sum", (3, 5, 2, 7, 4), "SRSRS",
              "y[v0, v2, v4] = y[v0, v2, v4] + x[v0, v1, v2, v3, v4]",
              "y[v0, v2, v4] = T.float32(0)"),
    )  # fmt: skip
    ir.assert_structural_equal(after, expected)
    assert names == {"sum": ["x", "y"]}


def test_buffers_between_blocks():
    """A block is written as its reader wants it, and every buffer is suggested once."""
    made = 't = T.alloc_buffer(({}), "float32")'
    func = prim_func(
        {"x": "3, 4, 9", "bias": "4", "y": "3, 4, 7"},
        block("twice", (3, 4, 9), "SSS", "t[v0, v1, v2] = x[v0, v1, v2] * T.float32(2)")
        + block("add", (3, 4, 7), "SSS", "y[v0, v1, v2] = t[v0, v1, v2 + 2] + bias[v1]")
        + block("again", (3, 4, 7), "SSS", "y[v0, v1, v2] = y[v0, v1, v2] * T.float32(3)"),
        made.format("3, 4, 9"),
    )
    after, names = applied(func, [last])
    expected = prim_func(
        {"x": "3, 9, 4", "bias": "4", "y": "3, 7, 4"},
        block("twice", (3, 9, 4), "SSS", "t[v0, v1, v2] = x[v0, v1, v2] * T.float32(2)")
        + block("add", (3, 7, 4), "SSS", "y[v0, v1, v2] = t[v0, v1 + 2, v2] + bias[v2]")
        + block("again", (3, 7, 4), "SSS", "y[v0, v1, v2] = y[v0, v1, v2] * T.float32(3)"),
        made.format("3, 9, 4"),
    )
    ir.assert_structural_equal(after, expected)
    assert names == {"twice": ["t", "x"], "add": ["bias", "y"], "again": []}


@pytest.mark.parametrize(
    ("read", "shape", "maps"),
    [
        ("x[v0, v1]", "8, 8", True),
        ("x[v0, v1 * 2 + 1]", "8, 16", True),
        ("x[v0, v1 // 2]", "8, 4", False),  # not injective
        ("x[v0, v1 * v1]", "8, 50", False),
        ("x[v0, v0 + v1]", "8, 16", False),  # two iterators
        ("x[v1, v0]", "8, 8", False),  # not in order
        ("x[v0, v0]", "8, 8", False),
        ("x[v0, v1] + x[v0, 0]", "8, 8", False),  # two layouts
        ("x[v0, v1]", "8, 9", False),  # would be padded
        ("x[v0, T.Cast('int64', y[v0, v1])]", "8, 8", False),  # computed
    ],
)
def test_what_is_read(read, shape, maps):
    func = prim_func({"x": shape, "y": "8, 8"}, block("b", (8, 8), "SS", f"y[v0, v1] = {read}"))
    _, names = applied(func, [blocked])
    assert names == {"b": ["x", "y"] if maps else ["y"]}


@pytest.mark.parametrize(
    ("shape", "extents", "statement", "transform"),
    [
        ("8, 8", (8, 8), "y[v0, v1] = x[v0, v1]", lambda n, c: (n, c // 5, c % 5)),
        ("64,", (8, 8), "y[v0 * 8 + v1] = x[v0, v1]", lambda i: (i // 4, i % 4)),
        ("8, 8", (8, 8), "y[v1, v0] = x[v0, v1]", blocked),
        ("8, 8", (8,), "y[v0, 0] = x[v0, v0]", blocked),
        ("8, 8, 8", (8, 8), "y[v0, v1, v1] = x[v0, v1]", last),
    ],
)
def test_blocks_that_stay(shape, extents, statement, transform):
    kinds = "S" * len(extents)
    func = prim_func({"x": "8, 8", "y": shape}, block("b", extents, kinds, statement))
    assert analysis.suggest_layout_transforms(func, [transform]) == {}
    assert analysis.suggest_layout_transforms(func, []) == {}


def test_index_map_that_joins_dimensions():
    """Where the buffer has one of the two indices that a result joins, it stays."""
    func = prim_func({"x": "8", "y": "4, 8"}, block("b", (4, 8), "SS", "y[v0, v1] = x[v1]"))
    after, names = applied(func, [lambda a, b: a * 8 + b])
    expected = prim_func({"x": "8", "y": "32"}, block("b", (32,), "S", "y[v0] = x[v0 % 8]"))
    ir.assert_structural_equal(after, expected)
    assert names == {"b": ["y"]}


def test_wrong_maps():
    func = prim_func({"x": "8", "y": "8"}, block("b", (8,), "S", "y[v0] = x[v0]"))
    suggest = analysis.suggest_layout_transforms
    with pytest.raises(ScheduleValueError, match="3 maps for 2 parameters"):
        suggest(func, [lambda i: i] * 3)
    with pytest.raises(ScheduleValueError, match=r"'y' has 1 dimensions, .* takes 2 indices"):
        suggest(func, [lambda i, j: (j, i)])
    with pytest.raises(ExprTypeError, match="an IndexMap or a function is needed, got int"):
        suggest(func, [2])
