"""Memory for intermediate tensors: planned, without planning, and the least that any plan needs."""

import sys
from itertools import pairwise

import harness

from relax_mlir import relax, script
from relax_mlir.transform import PassContext

HEAD = """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module
class Model:
    @R.function
    def main({parameters}):
        with R.dataflow():
{body}
            R.output({result})
        return {result}
"""


def program(parameters, lines, result):
    """Return a module of one function."""
    spelled = ", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in parameters)
    body = "\n".join(f"            {line}" for line in lines)
    return script.from_source(HEAD.format(parameters=spelled, body=body, result=result))


def mlp(batch):
    """Return the demo's network with two hidden layers: 64, 128, 96, 10."""
    sizes = (64, 128, 96, 10)
    parameters, lines, last = [("x", f"({batch}, 64)")], [], "x"
    for i, (a, b) in enumerate(pairwise(sizes)):
        parameters += [(f"w{i}", f"({a}, {b})"), (f"b{i}", f"({b},)")]
        lines += [f"h{i} = R.matmul({last}, w{i})", f"g{i} = R.add(h{i}, b{i})"]
        lines.append(f"a{i} = R.nn.relu(g{i})" if b != 10 else f"a{i} = R.nn.softmax(g{i})")
        last = f"a{i}"
    return program(parameters, lines, last)


def resnet(batch, blocks=4):
    """Return residual blocks of two convolutions on 16 channels of 14 x 14."""
    parameters, lines, last = [("x", f"({batch}, 16, 14, 14)")], [], "x"
    for i in range(blocks):
        parameters += [(f"u{i}", "(16, 16, 3, 3)"), (f"v{i}", "(16, 16, 3, 3)")]
        lines += [
            f"c{i} = R.nn.conv2d({last}, u{i}, padding=1)",
            f"r{i} = R.nn.relu(c{i})",
            f"d{i} = R.nn.conv2d(r{i}, v{i}, padding=1)",
            f"s{i} = R.add(d{i}, {last})",
            f"t{i} = R.nn.relu(s{i})",
        ]
        last = f"t{i}"
    return program(parameters, [*lines, f"z = R.mean({last}, axis=[2, 3])"], "z")


def transformer(length, heads=4, width=64):
    """Return one block: attention over `length` positions, then two layers."""
    part = width // heads
    size = length if isinstance(length, int) else "n"
    parameters = [("x", f"({length}, {width})")]
    parameters += [(f"w{name}", f"({width}, {width})") for name in "qkvo"]
    parameters += [("w1", f"({width}, {4 * width})"), ("w2", f"({4 * width}, {width})")]
    lines = [] if isinstance(length, int) else ["n = T.int64()"]
    for name in "qkv":
        lines += [
            f"{name}0 = R.matmul(x, w{name})",
            f"{name}1 = R.reshape({name}0, ({size}, {heads}, {part}))",
            f"{name} = R.permute_dims({name}1, [1, 0, 2])",
        ]
    lines += [
        "kt = R.permute_dims(k, [0, 2, 1])",
        "s = R.matmul(q, kt)",
        'p = R.nn.softmax(R.multiply(s, R.const(0.25, "float32")))',
        "o = R.permute_dims(R.matmul(p, v), [1, 0, 2])",
        f"o1 = R.matmul(R.reshape(o, ({size}, {width})), wo)",
        "y = R.add(x, o1)",
        "f = R.matmul(R.nn.gelu(R.matmul(y, w1)), w2)",
        "z = R.add(y, f)",
    ]
    return program(parameters, lines, "z")


def irregular(rows, columns):
    """Return a graph whose tensors live for long and short, of sizes in no simple relation."""
    parameters = [("x", f"({rows}, 48)"), ("y", f"({columns}, 48)")]
    lines = ["e = R.nn.softmax(x)", "f = R.nn.softmax(y)", "g = R.matmul(x, R.permute_dims(y))"]
    lines += ["h = R.nn.softmax(g)", "a = R.matmul(h, f)", "b = R.matmul(R.permute_dims(h), e)"]
    lines += ["c = R.nn.softmax(R.add(a, e))", "d = R.nn.softmax(R.add(b, f))"]
    lines += ["i = R.matmul(c, R.permute_dims(d))", "j = R.add(R.nn.softmax(i), g)"]
    lines += ["k = R.concat((a, e), axis=1)", "l = R.matmul(R.permute_dims(j), k)"]
    lines += ["m1 = R.sum(l, axis=0)", "n1 = R.sum(R.matmul(j, d), axis=0)"]
    lines += ["z = R.concat((m1, n1), axis=0)"]
    return program(parameters, lines, "z")


MODELS = {
    "digits MLP, batch 32": (lambda: mlp(32), {}),
    "digits MLP, batch n": (lambda: mlp('"n"'), {"n": 32}),
    "four residual blocks": (lambda: resnet(1), {}),
    "four residual blocks, batch n": (lambda: resnet('"n"'), {"n": 8}),
    "transformer block, 128": (lambda: transformer(128), {}),
    "transformer block, n = 16": (lambda: transformer('"n"'), {"n": 16}),
    "transformer block, n = 512": (lambda: transformer('"n"'), {"n": 512}),
    "irregular graph": (lambda: irregular(80, 200), {}),
    "irregular graph, n < m": (lambda: irregular('"n"', '"m"'), {"n": 40, "m": 300}),
    "irregular graph, n > m": (lambda: irregular('"n"', '"m"'), {"n": 300, "m": 40}),
}


def measure(name, fused=True):
    """Return a model's bytes: planned, without planning, needed at one time."""
    make, values = MODELS[name]
    log = relax.BuildLog()
    with PassContext(disabled_pass=[] if fused else ["FuseKernels"]):
        relax.build(make(), "llvm -O=0", log=log)
    found = [
        [number.evaluate(values) for number in (arena.planned, arena.unplanned, arena.needed)]
        for arena in log.memory.values()
    ]
    return [sum(each) for each in zip(*found, strict=True)]


def main():
    print(f"{harness.machine()}\n")
    rows, worst = [], 0.0
    for name in MODELS:
        planned, unplanned, needed = measure(name)
        worst = max(worst, planned / needed)
        rows.append(
            [name, f"{planned / 1024:.1f}", f"{unplanned / 1024:.1f}", f"{needed / 1024:.1f}",
             f"{planned / needed:.3f}"]
        )  # fmt: skip
    harness.table(
        ["model", "planned KiB", "not planned KiB", "needed at once KiB", "planned / needed"], rows
    )
    if worst > 1.1:
        sys.exit(f"a plan takes {worst:.2f} times what is needed; at most 1.1 is wanted")


if __name__ == "__main__":
    main()
