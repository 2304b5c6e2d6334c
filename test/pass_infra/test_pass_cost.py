"""What the facade costs: little around a pass, one copy for a whole Sequential (issue 3)."""

from time import process_time

import pytest

from relax_mlir import relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import PassError, VerifyError
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.op import register_op_attr, reset_op_attr
from relax_mlir.lowering.relax_to_vm import vm_shape_lower
from relax_mlir.transform import (
    PassContext,
    Sequential,
    dataflowblock_pass,
    function_pass,
    module_pass,
)

TYPE = "tensor<4xf32>"
FUNCTION = f"""
func.func @f{{i}}(%x: {TYPE}) -> {TYPE} attributes {{{{relax.function}}}} {{{{
  %0 = "relax.exp"(%x) : ({TYPE}) -> {TYPE}
  return %0 : {TYPE}
}}}}
"""
BLOCK = f"""
  %b{{i}} = "relax.dataflow"() ({{{{
    %a = "relax.exp"(%x) : ({TYPE}) -> {TYPE}
    "relax.output"(%a) : ({TYPE}) -> ()
  }}}}) : () -> {TYPE}
"""


def chain(count):
    body = "\n".join(f'  %{i + 1} = "relax.exp"(%{i}) : ({TYPE}) -> {TYPE}' for i in range(count))
    return IRModule.parse(
        f"func.func @main(%0: {TYPE}) -> {TYPE} attributes {{relax.function}} {{\n{body}\n"
        f"  return %{count} : {TYPE}\n}}"
    )


def functions(count):
    return IRModule.parse("".join(FUNCTION.format(i=i) for i in range(count)))


def blocks(count):
    body = "".join(BLOCK.format(i=i) for i in range(count))
    return IRModule.parse(
        f"func.func @main(%x: {TYPE}) -> {TYPE} attributes {{relax.function}} {{\n{body}\n"
        f"  return %b0 : {TYPE}\n}}"
    )


def best(function, rounds=9):
    times = []
    for _ in range(rounds):
        start = process_time()
        function()
        times.append(process_time() - start)
    return min(times)


def test_the_cost_does_not_grow_with_the_module():
    passes = [module_pass(lambda mod, ctx: mod, opt_level=0, name=f"P{i}") for i in range(101)]
    costs = []
    for mod in (chain(10), chain(3000)):
        with PassContext(config={"transform.verify_each": False}):
            few = best(lambda m=mod: Sequential(passes[:1])(m))
            costs.append(best(lambda m=mod: Sequential(passes)(m)) - few)
    assert costs[1] < 4 * costs[0] + 1e-3


@pytest.mark.parametrize(
    ("make", "each"),
    [
        (functions, function_pass(lambda func, mod, ctx: func, opt_level=0, name="Functions")),
        (blocks, dataflowblock_pass(lambda block, mod, ctx: block, opt_level=0, name="Blocks")),
    ],
)
def test_passes_over_parts_take_time_by_the_part(make, each):
    # Where the whole module was looked at for each part it was sixteen times as long.
    few, many = make(150), make(600)
    with PassContext(config={"transform.verify_each": False}):
        assert best(lambda: each(many), 3) < 8 * best(lambda: each(few), 3)


@pytest.mark.parametrize("nested", [False, True])
def test_one_copy_for_all_passes(nested, monkeypatch):
    copies = []
    clone = IRModule.clone
    monkeypatch.setattr(IRModule, "clone", lambda mod: copies.append(mod) or clone(mod))
    passes = [module_pass(lambda mod, ctx: mod, opt_level=0, name=f"P{i}") for i in range(6)]
    whole = Sequential([Sequential(passes[:3]), Sequential(passes[3:])] if nested else passes)
    mod = chain(3)
    whole(mod)
    assert copies == [mod]


class TestVerification:
    """Operations that were found sound are not looked at again, and wrong ones always are."""

    @pytest.fixture
    def checks(self, monkeypatch):
        from relax_mlir.dialects.relax.ops.base import ComputeOp

        seen = []
        check = ComputeOp.check
        monkeypatch.setattr(ComputeOp, "check", lambda op: seen.append(op) or check(op))
        return seen

    def test_equal_operations_are_checked_once(self, checks):
        mod = chain(100)
        assert len(checks) <= 1
        mod.verify()
        module_pass(lambda mod, ctx: mod, opt_level=0, name="Noop")(mod)
        assert len(checks) <= 1

    def test_each_context_knows_its_own(self, checks):
        from relax_mlir.dialects.context import make_context

        for _ in range(2):
            IRModule.parse(str(chain(2)), make_context())
        assert len(checks) >= 2

    @pytest.mark.parametrize("position", [0, 50, 99])
    def test_a_pass_is_blamed_for_what_it_did(self, position):
        mod = chain(100)

        @module_pass(opt_level=0, name="Break")
        def break_it(mod, ctx):
            op = list(mod["main"].mlir_op.regions[0].blocks[0].operations)[position].operation
            op.results[0].set_type(ir.Type.parse("tensor<5xf32>"))
            return mod

        noop = module_pass(lambda mod, ctx: mod, opt_level=0, name="Noop")
        for _ in range(2):
            with pytest.raises(PassError, match=r"'relax\.exp' op result must be") as caught:
                Sequential([noop, break_it, noop])(mod)
            assert caught.value.pass_name == "Break"

    @pytest.mark.parametrize("config", [{}, {"transform.verify_each": True}])
    def test_a_build_blames_one_of_its_passes(self, config, monkeypatch):
        def break_it(module, **options):
            function = module.regions[0].blocks[0].operations[0].operation
            function.regions[0].blocks[0].operations[0].operation.erase()
            calls.append(module)

        calls = []
        mod = IRModule.parse(
            f"func.func @main(%x: {TYPE}) attributes {{relax.function}} {{\n  return\n}}"
        )
        monkeypatch.setattr(vm_shape_lower, "vm_shape_lower", break_it)
        with (
            PassContext(config=config),
            pytest.raises(PassError, match="at least a terminator") as caught,
        ):
            relax.build(mod)
        assert caught.value.pass_name == "VMShapeLower"
        assert len(calls) == (1 if config else 2)

    def test_attributes_count(self):
        text = (
            f"func.func @main(%x: {TYPE}) -> tensor<f32> attributes {{relax.function}} {{\n"
            f'  %0 = "relax.sum"(%x) {{axis = array<i64: AXIS>, keepdims = false}} : '
            f"({TYPE}) -> tensor<f32>\n  return %0 : tensor<f32>\n}}"
        )
        IRModule.parse(text.replace("AXIS", "0"))
        with pytest.raises(VerifyError, match="axis"):
            IRModule.parse(text.replace("AXIS", "1"))

    def test_what_is_around_counts(self):
        mod = blocks(2)

        @module_pass(opt_level=0, name="Move")
        def move(mod, ctx):
            main = mod["main"].mlir_op.regions[0].blocks[0]
            (end,) = [
                op.operation
                for op in next(iter(main.operations)).operation.regions[0].blocks[0].operations
                if op.operation.name == "relax.output"
            ]
            end.clone(ip=ir.InsertionPoint.at_block_terminator(main))
            return mod

        with pytest.raises(PassError):
            move(mod)

    def test_another_rule_counts(self):
        mod = chain(3)
        register_op_attr("relax.exp", "FInferShape", lambda call: (7,))
        try:
            with pytest.raises(VerifyError, match="result must be"):
                mod.verify()
        finally:
            reset_op_attr("relax.exp", "FInferShape")
        mod.verify()
