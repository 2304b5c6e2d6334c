"""Random programs, with impure calls, branches and loops, compute the same after random passes."""

import random

import numpy as np
import pytest

from relax_mlir import register_func, relax, transform
from relax_mlir.ir.module import IRModule
from relax_mlir.script import from_source

PASSES = (
    "EliminateCommonSubexpr", "DeadCodeElimination", "CanonicalizeBindings", "FoldConstant",
    "InferType", "Normalize", "ConvertToDataflow", "LambdaLift", "DataflowUseInplaceCalls",
)  # fmt: skip
# No optimisation at all, to compare with.
PLAIN = (
    "LambdaLift", "LegalizeOps", "ToNonDataflow", "CallTIRRewrite", "VMMemoryLower", "VMShapeLower",
)  # fmt: skip
UNARY = ("exp", "negative", "abs", "tanh", "sigmoid", "nn.relu")
BINARY = ("add", "multiply", "subtract", "maximum")
TENSOR = 'R.Tensor(("n", 4), "float32")'
HEAD = "from relax_mlir.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n"


@register_func("test.random.double", override=True)
def double_in_place(x):
    x *= 2
    return x


class Writer:
    """Writes one function; every value has the shape (n, 4)."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self.rng, self.name, self.count = rng, name, 0
        self.lines = [
            "    @R.function",
            f'    def {name}(flag: R.Tensor((), "bool"), x: {TENSOR}, y: {TENSOR}):',
        ]

    def write(self) -> str:
        values = self.block(2, ["x", "y"], 0) or ["x"]
        returned = [self.rng.choice(values) for _ in range(self.rng.randint(1, 3))]
        return "\n".join([*self.lines, f"        return ({', '.join(returned)},)"])

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def block(self, depth: int, values: list[str], scopes: int, pure: bool = False) -> list[str]:
        values, own = list(values), []
        for _ in range(self.rng.randint(2, 6)):
            kind = self.rng.random()
            if kind < 0.08 and not pure and scopes < 2:
                made = self.branches(depth, values, scopes)
            elif kind < 0.16 and not pure:
                made = self.dataflow(depth, values, scopes)
            elif kind < 0.24 and not pure and scopes < 2:
                made = self.loop(depth, values, scopes)
            elif kind < 0.29 and not pure and scopes < 2:
                made = self.function(depth, values, scopes)
            elif kind < 0.37 and not pure and set(values) - {"x", "y"}:
                name = self.new()
                target = self.rng.choice(sorted(set(values) - {"x", "y"}))
                call = f'R.call_packed("test.random.double", {target}, sinfo_args={TENSOR})'
                self.line(depth, f"{name} = {call}")
                made = [name]
            else:
                made = [self.binding(depth, values)]
            values += made
            own += made
        return own

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def binding(self, depth: int, values: list[str]) -> str:
        name, rng = self.new(), self.rng
        a, b = rng.choice(values), rng.choice(values)
        kind = rng.random()
        if kind < 0.4:
            self.line(depth, f"{name} = R.{rng.choice(UNARY)}({a})")
        elif kind < 0.65:
            self.line(depth, f"{name} = R.{rng.choice(BINARY)}({a}, {b})")
        elif kind < 0.75:
            constant = f"R.{rng.choice(UNARY)}(R.const({[rng.random() for _ in range(4)]}))"
            self.line(depth, f"{name} = R.{rng.choice(BINARY)}({a}, {constant})")
        elif kind < 0.85:
            pair = self.new()
            self.line(depth, f"{pair} = ({a}, {b})")
            self.line(depth, f"{name} = {pair}[{rng.randint(0, 1)}]")
        else:
            # The shape is lost and found again.
            cast, lost = self.new(), self.new()
            symbols = f'("p_{self.name}_{cast}", "q_{self.name}_{cast}")'
            self.line(depth, f'{cast} = R.match_cast({a}, R.Tensor({symbols}, "float32"))')
            self.line(depth, f"{lost}: R.Tensor = R.multiply({cast}, {b})")
            self.line(depth, f"{name} = R.match_cast({lost}, {TENSOR})")
        return name

    def branches(self, depth: int, values: list[str], scopes: int) -> list[str]:
        name, rng = self.new(), self.rng
        self.line(depth, f"if {rng.choice(['flag', 'R.const(True)', 'R.const(False)'])}:")
        made = self.block(depth + 1, values, scopes + 1)
        self.line(depth + 1, f"{name} = R.abs({rng.choice(made)})")
        self.line(depth, "else:")
        made = self.block(depth + 1, values, scopes + 1)
        self.line(depth + 1, f"{name} = R.add({rng.choice(made)}, {rng.choice(values)})")
        return [name]

    def loop(self, depth: int, values: list[str], scopes: int) -> list[str]:
        name, other, count, rng = self.new(), self.new(), self.new(), self.rng
        self.line(depth, f"{name} = R.tanh({rng.choice(values)})")
        self.line(depth, f"{other} = {rng.choice(values)}")
        if rng.random() < 0.5:
            self.line(depth, f"for {count} in range({rng.randint(0, 3)}):")
        else:
            self.line(depth, f"{count} = 0")
            self.line(depth, f"while {count} < {rng.randint(0, 3)}:")
            self.line(depth + 1, f"{count} = {count} + 1")
        # What is carried is written to as well.
        made = self.block(depth + 1, [*values, name, other], scopes + 1)
        self.line(depth + 1, f"{other} = {name}")
        self.line(depth + 1, f"{name} = R.sigmoid({rng.choice(made)})")
        return [name, other]

    def function(self, depth: int, values: list[str], scopes: int) -> list[str]:
        function, parameter, name, rng = self.new(), self.new(), self.new(), self.rng
        self.line(depth, "@R.function")
        self.line(depth, f"def {function}({parameter}: {TENSOR}) -> {TENSOR}:")
        made = self.block(depth + 1, [*values, parameter], scopes + 1)
        self.line(depth + 1, f"return R.abs({rng.choice(made)})")
        self.line(depth, f"{name} = {function}({rng.choice(values)})")
        return [name]

    def dataflow(self, depth: int, values: list[str], scopes: int) -> list[str]:
        self.line(depth, "with R.dataflow():")
        made = self.block(depth + 1, values, scopes + 1, pure=True)
        outputs = self.rng.sample(made, self.rng.randint(1, len(made)))
        self.line(depth + 1, f"R.output({', '.join(outputs)})")
        return outputs


def results(module: IRModule, pipeline: tuple[str, ...] | None = None) -> list[np.ndarray]:
    vm = relax.VirtualMachine(relax.build(module, relax_pipeline=pipeline or "default"))
    found = []
    # What LambdaLift makes has names of its own.
    for name in (name for name in module.function_names if "_" not in name):
        for flag in (True, False):
            rng = np.random.default_rng(0)
            x, y = (rng.standard_normal((3, 4), dtype="float32") for _ in range(2))
            found += vm[name](np.array(flag), x, y)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed):
    rng = random.Random(seed)
    functions = [Writer(rng, f"f{index}").write() for index in range(8)]
    module = from_source(HEAD + "\n".join(functions))
    expected = results(module, PLAIN)
    for plan in ([], list(PASSES), rng.sample(PASSES, len(PASSES))):
        with transform.PassContext(opt_level=3):
            result = transform.Sequential([getattr(transform, name)() for name in plan])(module)
        for got, want in zip(results(result), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=str(plan))
