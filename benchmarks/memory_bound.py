"""Workloads of one input and little arithmetic, in the caches and out of them.

Those in the caches are judged by the peers' times, those out of them by the bandwidth of memory
too. Read by our process and by the peers', so it needs nothing but numpy.
"""

import math
from collections.abc import Sequence

from last_level_cache import far_bytes
from workload import F32, Node, Workload, count_bytes

_FAR = "out_of_cache"
_COLUMNS = 1024


def light(
    name: str,
    group: str,
    shape: tuple[int, ...],
    nodes: Sequence[tuple],
    weights: dict[str, tuple[int, ...]] | None = None,
    result: tuple[int, ...] | None = None,
    flops: float = 1.0,
    symbols: tuple[int | str, ...] | None = None,
) -> Workload:
    """Return a workload of one input, `x`; `flops` are for each of its elements."""
    weights = weights or {}
    out = shape if result is None else result
    return Workload(
        name,
        group,
        {"x": shape},
        weights,
        tuple(Node(*node) for node in nodes),
        flops * math.prod(shape),
        count_bytes([shape, *weights.values(), out]),
        None if symbols is None else {"x": symbols},
        out_of_cache=_FAR in name,
        only_reads=_FAR in name and math.prod(out) * 16 < math.prod(shape),
    )


def _rows(tensors: int) -> int:
    """Return how many rows of 1024 so many tensors have that no cache holds together."""
    return math.ceil(far_bytes() / (tensors * F32 * _COLUMNS))


def _sizes(*near: tuple[int, ...], tensors: int = 2) -> list[tuple[str, tuple[int, ...]]]:
    """Return what names end in, and shapes: some, and one out of the caches."""
    named = [("x".join(map(str, shape)), shape) for shape in near]
    return [*named, (_FAR, (_rows(tensors), _COLUMNS))]


def chains() -> list[Workload]:
    """Return elementwise functions."""
    found = []
    for name, shape in _sizes((4096, 1024), (128, 1024)):
        m = shape[-1]
        rows = {"scale": (m,), "bias": (m,)}
        affine = (("multiply", ("x", "scale")), ("add", ("t0", "bias")))
        chain = (
            *affine,
            ("sigmoid", ("t1",)),
            ("multiply", ("t1", "t2")),
            ("tanh", ("t3",)),
            ("clip", ("t4",), {"min": -0.9, "max": 0.9}),
        )
        relu = (*affine, ("relu", ("t1",)))
        symbols = ("n", m)
        found += [
            light(f"chain_{name}", "elementwise", shape, chain, rows, None, 5, symbols),
            light(f"affine_relu_{name}", "elementwise", shape, relu, rows, None, 3, symbols),
        ]
        found += [
            light(f"{op}_{name}", "elementwise", shape, [(op, ("x",))], None, None, flops)
            for op, flops in (("exp", 1), ("gelu", 4), ("silu", 2))
        ]
    return found


def norms() -> list[Workload]:
    """Return softmax and normalisations of rows."""
    found = [
        light(
            f"softmax_{name}", "softmax", shape, [("softmax", ("x",))], flops=4,
            symbols=("n", *shape[1:]),
        )
        for name, shape in _sizes((12, 512, 512), (64, 128), (1, 32000))
    ]  # fmt: skip
    found += [
        light(
            f"log_softmax_{name}", "softmax", shape, [("log_softmax", ("x",))], flops=4,
            symbols=("n", shape[1]),
        )
        for name, shape in _sizes((128, 1000), (4096, 1000))
    ]  # fmt: skip
    found += [
        light(
            f"rms_norm_{name}", "layernorm", shape, [("rms_norm", ("x", "gamma"))],
            {"gamma": shape[1:]}, flops=4, symbols=("n", shape[1]),
        )
        for name, shape in _sizes((2048, 1024), (64, 1024))
    ]  # fmt: skip
    return found + [
        light(
            f"layernorm_{name}", "layernorm", shape, [("layer_norm", ("x", "gamma", "beta"))],
            {"gamma": shape[1:], "beta": shape[1:]}, flops=7, symbols=("n", shape[1]),
        )
        for name, shape in _sizes((2048, 768), (77, 768))
    ]  # fmt: skip


def reductions() -> list[Workload]:
    """Return reductions of matrices."""
    found = []
    for size, (n, m) in _sizes((4096, 1024), (256, 256), tensors=1):
        for what, op, axes, result in (
            ("rows", "sum", [1], (n,)),
            ("columns", "sum", [0], (m,)),
            ("all", "sum", [0, 1], ()),
            ("max_rows", "max", [1], (n,)),
            ("argmax_rows", "argmax", [1], (n, 2)),
        ):
            node = (op, ("x",), {"axes": axes})
            name = f"reduce_{what}_{size}"
            found.append(light(name, "reduction", (n, m), [node], None, result))
    return found


def transposes() -> list[Workload]:
    """Return transpositions of matrices, of images, and of the heads of attention."""
    each = far_bytes() / (2 * F32)
    side = math.ceil(math.sqrt(each) / 64) * 64
    cases = (
        ((2048, 2048), (1, 0), ""),
        ((256, 256), (1, 0), ""),
        ((1, 64, 56, 56), (0, 2, 3, 1), ""),
        ((1, 56, 56, 64), (0, 3, 1, 2), ""),
        ((512, 12, 64), (1, 0, 2), ""),
        ((16, 64, 224, 64), (0, 2, 1, 3), ""),
        ((side, side), (1, 0), _FAR),
        ((math.ceil(each / (64 * 256 * 64)), 64, 256, 64), (0, 2, 1, 3), _FAR),
    )
    return [
        light(
            f"transpose_{name or 'x'.join(map(str, shape))}_{''.join(map(str, axes))}",
            "transpose",
            shape,
            [("transpose", ("x",), {"axes": axes})],
            flops=0,
            symbols=tuple("nmkl"[: len(shape)]),
        )
        for shape, axes, name in cases
    ]
