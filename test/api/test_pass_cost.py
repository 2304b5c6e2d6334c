"""What the facade costs: little around a pass, one copy for a whole Sequential (issue 3)."""

from time import perf_counter

from relax_mlir.ir.module import IRModule
from relax_mlir.transform import PassContext, Sequential, module_pass

TYPE = "tensor<4xf32>"


def chain(count):
    body = "\n".join(f'  %{i + 1} = "relax.exp"(%{i}) : ({TYPE}) -> {TYPE}' for i in range(count))
    return IRModule.parse(
        f"func.func @main(%0: {TYPE}) -> {TYPE} attributes {{relax.function}} {{\n{body}\n"
        f"  return %{count} : {TYPE}\n}}"
    )


def best(function, rounds=9):
    times = []
    for _ in range(rounds):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return min(times)


def test_under_50_microseconds_around_a_pass():
    mod = chain(1000)
    passes = [module_pass(lambda mod, ctx: mod, opt_level=0, name=f"P{i}") for i in range(201)]
    with PassContext(config={"transform.verify_each": False}):
        few = best(lambda: Sequential(passes[:1])(mod))
        many = best(lambda: Sequential(passes)(mod))
    assert (many - few) / 200 < 50e-6


def test_the_cost_does_not_grow_with_the_module():
    passes = [module_pass(lambda mod, ctx: mod, opt_level=0, name=f"P{i}") for i in range(101)]
    costs = []
    for mod in (chain(10), chain(3000)):
        with PassContext(config={"transform.verify_each": False}):
            few = best(lambda m=mod: Sequential(passes[:1])(m))
            costs.append(best(lambda m=mod: Sequential(passes)(m)) - few)
    assert costs[1] < 4 * costs[0] + 1e-3
