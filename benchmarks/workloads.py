"""What `kernels.py` measures.

Read by our process and by the peers', so it needs nothing but numpy.
"""

import itertools
import math
from dataclasses import replace
from typing import Any

from memory_bound import chains, light, norms, reductions, transposes
from resnet import Network, resnet20, resnet50
from workload import F32, Node, Workload, count_bytes


def _matmul(
    x: tuple[int, ...], w: tuple[int, ...], group: str, name: str, weight: bool, symbols: Any
) -> Workload:
    flops = 2.0 * math.prod(x) * w[-1]
    square = len(set(x + w)) == 1 and x[0] >= 512
    return Workload(
        name,
        group,
        {"x": x} if weight else {"x": x, "w": w},
        {"w": w} if weight else {},
        (Node("matmul", ("x", "w")),),
        flops,
        count_bytes([x, w, (*x[:-1], w[-1])]),
        symbols,
        fma_share=0.9 if square else None,
    )


def _matmuls() -> list[Workload]:
    sizes = [(n, n, n) for n in (256, 512, 1000, 1024, 1536, 2048)]
    sizes += [(999, 1001, 1003), (37, 61, 129)]
    symbols = {"x": ("n", "k"), "w": ("k", "m")}
    return [
        _matmul((n, k), (k, m), "matmul", f"matmul_{n}x{k}x{m}", False, symbols)
        for n, k, m in sizes
    ]


def _transformers() -> list[Workload]:
    layers = [
        _matmul((n, k), (k, m), "transformer", f"layer_{n}x{k}x{m}", True, {"x": ("n", k)})
        for n, k, m in ((128, 768, 3072), (1, 4096, 4096), (77, 768, 768), (512, 3072, 768))
    ]
    gemv = _matmul((1, 4096), (4096, 4096), "transformer", "gemv_1x4096x4096", False, None)
    batched = _matmul(
        (12, 512, 64),
        (12, 64, 512),
        "transformer",
        "batched_12x512x64x512",
        False,
        {"x": ("b", "n", 64), "w": ("b", 64, "m")},
    )
    return [*layers, gemv, batched]


# Channels in and out, size of the window, stride, rows and columns of the input.
RESNET50 = (
    (3, 64, 7, 2, 224),
    (64, 64, 1, 1, 56), (64, 64, 3, 1, 56), (64, 256, 1, 1, 56), (256, 64, 1, 1, 56),
    (256, 128, 1, 1, 56), (128, 128, 3, 2, 56), (128, 512, 1, 1, 28), (256, 512, 1, 2, 56),
    (512, 128, 1, 1, 28), (128, 128, 3, 1, 28),
    (512, 256, 1, 1, 28), (256, 256, 3, 2, 28), (256, 1024, 1, 1, 14), (512, 1024, 1, 2, 28),
    (1024, 256, 1, 1, 14), (256, 256, 3, 1, 14),
    (1024, 512, 1, 1, 14), (512, 512, 3, 2, 14), (512, 2048, 1, 1, 7), (1024, 2048, 1, 2, 14),
    (2048, 512, 1, 1, 7), (512, 512, 3, 1, 7),
)  # fmt: skip
MOBILENET_V2 = (
    (32, 1, 112), (96, 2, 112), (144, 1, 56), (144, 2, 56), (192, 1, 28), (192, 2, 28),
    (384, 1, 14), (576, 1, 14), (576, 2, 14), (960, 1, 7),
)  # fmt: skip


# Layers that a version for any number and size of images is measured of, too.
ANY_IMAGES = (
    "conv_3_64_7_2_224", "conv_256_64_1_1_56", "conv_64_64_3_1_56", "conv_256_512_1_2_56",
    "conv_1024_256_1_1_14", "conv_2048_512_1_1_7", "conv_512_512_3_1_7", "depthwise_96_3_2_112",
    "depthwise_144_3_1_56", "depthwise_384_3_1_14", "depthwise_576_3_2_14", "depthwise_960_3_1_7",
)  # fmt: skip


def _conv(name: str, group: str, channels: tuple[int, int], k: int, s: int, size: int, g: int):
    pad = k // 2
    rows = (size + 2 * pad - k) // s + 1
    x, w = (1, channels[0], size, size), (channels[1], channels[0] // g, k, k)
    y = (1, channels[1], rows, rows)
    attrs = {"strides": s, "padding": pad, "groups": g}
    return Workload(
        name,
        group,
        {"x": x},
        {"w": w},
        (Node("conv", ("x", "w"), attrs),),
        2.0 * math.prod(y) * math.prod(w[1:]),
        count_bytes([x, w, y]),
        {"x": ("n", channels[0], "h", "w")} if name in ANY_IMAGES else None,
    )


def _convs() -> list[Workload]:
    layers = [
        _conv(f"conv_{i}_{o}_{k}_{s}_{size}", "conv", (i, o), k, s, size, 1)
        for i, o, k, s, size in RESNET50
    ]
    return layers + [
        _conv(f"depthwise_{c}_3_{s}_{size}", "depthwise", (c, c), 3, s, size, c)
        for c, s, size in MOBILENET_V2
    ]


def _others() -> list[Workload]:
    """Return kernels of other classes, each with its peers."""
    return [
        light("cumsum_512x1024", "other", (512, 1024), [("cumsum", ("x",), {"axis": 1})]),
        light("cumsum_columns_512x1024", "other", (512, 1024), [("cumsum", ("x",), {"axis": 0})]),
        light(
            "reduce_ends_16x512x64",
            "other",
            (16, 512, 64),
            [("sum", ("x",), {"axes": [0, 2]})],
            None,
            (512,),
        ),
        light(
            "reduce_middle_16x512x64",
            "other",
            (16, 512, 64),
            [("sum", ("x",), {"axes": [1]})],
            None,
            (16, 64),
        ),
    ]


def _small() -> list[Workload]:
    """Return products by constant matrices of small numbers, and of what those stand for."""
    kinds = {
        "u8": ("uint8", "int8", {"out_dtype": "int32"}),
        "s8": ("int8", "int8", {"out_dtype": "int32"}),
        "bf16": ("bfloat16", "bfloat16", {}),
        "f16": ("float16", "float16", {}),
        "w8": ("float32", "int8", {}),
    }
    size = {"float32": 4, "int32": 4, "bfloat16": 2, "float16": 2, "int8": 1, "uint8": 1}
    found = [_four_bits(1, 4096, 4096, 128)]
    for n, k, m in ((128, 768, 3072), (1, 4096, 4096), (512, 512, 512), (77, 768, 768)):
        for kind, (xs, ws, attrs) in kinds.items():
            weights = {"w": (k, m)}
            nodes: tuple[Node, ...] = (Node("matmul", ("x", "w"), attrs),)
            if kind == "w8":
                weights["scale"] = (m,)
                nodes = Node("dequantize", ("w", "scale")), Node("matmul", ("x", "t0"))
            out = attrs.get("out_dtype", xs)
            found.append(
                Workload(
                    f"{kind}_{n}x{k}x{m}",
                    "small_dtypes",
                    {"x": (n, k)},
                    weights,
                    nodes,
                    2.0 * n * k * m,
                    float(n * k * size[xs] + k * m * size[ws] + n * m * size[out]),
                    {"x": ("n", k)},
                    dtypes={"x": xs, "w": ws},
                    near=1e-2 if "16" in kind else 1e-3,
                )
            )
    return found


def _four_bits(n: int, k: int, m: int, group: int) -> Workload:
    """Return a product by numbers of four bits, each group of rows with scales of its own."""
    shape = (k // group, m)
    nodes = (
        Node("dequantize_groups", ("w", "scale"), {"group": group}),
        Node("matmul", ("x", "t0")),
    )
    return Workload(
        f"w4g{group}_{n}x{k}x{m}", "small_dtypes", {"x": (n, k)}, {"w": (k, m), "scale": shape},
        nodes, 2.0 * n * k * m, count_bytes([(n, k), shape, (n, m)]) + k * m / 2, {"x": ("n", k)},
        dtypes={"x": "float32", "w": "int4"},
    )  # fmt: skip


def _attentions() -> list[Workload]:
    found = []
    sizes = ((12, 512, 512, 64), (12, 77, 77, 64), (32, 1, 2048, 128))
    kinds = (("attention", "float32", 4), ("bf16_attention", "bfloat16", 2))
    kinds += (("f16_attention", "float16", 2),)
    for (kind, dtype, size), (b, n, m, d) in itertools.product(kinds, sizes):
        shapes = {"q": (b, n, d), "k": (b, m, d), "v": (b, m, d)}
        short = f"{b}x{n}x{d}" if n == m else f"{b}x{n}x{m}x{d}"
        attrs = {"scale": 1 / math.sqrt(d)}
        single = dtype == "float32"
        found.append(
            Workload(
                f"{kind}_{short}",
                "attention" if single else "small_attention",
                shapes,
                {},
                (Node("attention", ("q", "k", "v"), attrs),),
                4.0 * b * n * m * d,
                count_bytes([*shapes.values(), (b, n, d)]) * size / F32,
                # Each head is a batch with one head: the same memory as heads outside.
                symbols={"q": (b, "n", 1, d), "k": (b, "m", 1, d), "v": (b, "m", 1, d)},
                native={name: (s[0], s[1], 1, s[2]) for name, s in shapes.items()},
                dtypes={} if single else dict.fromkeys(shapes, dtype),
                near=1e-3 if single else 1e-2,
            )
        )
    return found


def _fused() -> list[Workload]:
    """Return chains as models have them; there is no bar for them."""
    n, k, m = 128, 768, 3072
    layer = Workload(
        f"fused_layer_gelu_{n}x{k}x{m}",
        "fused",
        {"x": (n, k)},
        {"w": (k, m), "bias": (m,)},
        (
            Node("matmul", ("x", "w")),
            Node("add", ("t0", "bias")),
            Node("gelu", ("t1",)),
        ),
        2.0 * n * k * m,
        count_bytes([(n, k), (k, m), (m,), (n, m)]),
        {"x": ("n", k)},
    )
    convs = []
    for i, o, k, s, size in ((64, 64, 3, 1, 56), (256, 512, 1, 1, 28)):
        plain = _conv("", "fused", (i, o), k, s, size, 1)
        nodes = (*plain.nodes, Node("add", ("t0", "bias")), Node("relu", ("t1",)))
        convs.append(
            replace(
                plain,
                name=f"fused_conv_bias_relu_{i}_{o}_{k}_{s}_{size}",
                weights={**plain.weights, "bias": (1, o, 1, 1)},
                nodes=nodes,
            )
        )
    b, rows, d = 12, 512, 64
    shapes = {"q": (b, rows, d), "k": (b, d, rows), "v": (b, rows, d)}
    attention = Workload(
        f"fused_attention_of_products_{b}x{rows}x{d}",
        "fused",
        shapes,
        {"scale": (1,)},
        (
            Node("matmul", ("q", "k")),
            Node("multiply", ("t0", "scale")),
            Node("softmax", ("t1",)),
            Node("matmul", ("t2", "v")),
        ),
        4.0 * b * rows * rows * d,
        count_bytes([*shapes.values(), (b, rows, d)]),
    )
    return [layer, *convs, attention]


def models() -> list[Workload]:
    """Return whole networks, an image at a time."""

    def made(name: str, net: Network, classes: int) -> Workload:
        shapes = [net.image, *net.weights.values(), (1, classes)]
        nodes = tuple(Node(*node) for node in net.nodes)
        image = {"x": net.image}
        return Workload(name, "model", image, net.weights, nodes, net.flops, count_bytes(shapes))

    return [made("model_resnet20", resnet20(), 10), made("model_resnet50", resnet50(), 1000)]


def _moved() -> list[Workload]:
    """Return copies from and to other places; there is no bar for them."""
    image = (8, 32, 56, 56)
    cases: list[tuple[str, tuple[int, ...], str, dict[str, Any], tuple[int, ...]]] = [
        ("rows", (50000, 256), "take", {"axis": 0, "count": 4096}, (4096, 256)),
        ("columns", (512, 1000), "take", {"axis": 1, "count": 512}, (512, 512)),
        ("table", (65536,), "take", {"axis": 0, "count": 1 << 18}, (1 << 18,)),
        ("elements", (512, 1024), "gather", {"count": 1024}, (512, 1024)),
        ("scatter", (4096, 256), "scatter", {"count": 1024}, (4096, 256)),
        ("concat", (512, 500), "concat", {}, (512, 1000)),
        ("flip", (512, 1000), "flip", {}, (512, 1000)),
        ("step2", (512, 2000), "step", {"step": 2}, (512, 1000)),
        ("step7", (512, 2100), "step", {"step": 7}, (512, 300)),
        ("pad", image, "pad", {"by": 1, "mode": "constant"}, (8, 32, 58, 58)),
        ("pad_reflect", image, "pad", {"by": 3, "mode": "reflect"}, (8, 32, 62, 62)),
        ("resize", image, "upsample", {}, (8, 32, 112, 112)),
        ("topk10", (8, 50257), "topk", {"k": 10}, (8, 10)),
        ("topk_short", (32, 10000), "topk", {"k": 10}, (32, 10)),
        ("sort_rows", (128, 1024), "sort", {}, (128, 1024)),
        ("sort_long", (1, 1000000), "sort", {}, (1, 1000000)),
        ("argsort", (128, 1024), "argsort", {}, (128, 2048)),
        ("topk200", (8, 50257), "topk", {"k": 200}, (8, 200)),
    ]
    return [
        light(f"moved_{name}", "paths", shape, [(op, ("x",), attrs)], None, out, 0)
        for name, shape, op, attrs, out in cases
    ]


WORKLOADS = {
    work.name: work
    for make in (
        _matmuls,
        _transformers,
        _small,
        _convs,
        chains,
        norms,
        reductions,
        _others,
        transposes,
        _attentions,
        _fused,
        models,
        _moved,
    )
    for work in make()
}
