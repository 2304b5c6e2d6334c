"""DataflowBlockPass: what a pass over one block may do and may not; Create* helpers."""

import pytest

from relax_mlir import relax
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import build
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import (
    CreateDataflowBlockPass,
    CreateFunctionPass,
    CreateModulePass,
    CreatePrimFuncPass,
    CreateSequentialPass,
    DataflowBlockPass,
    FunctionPass,
    ModulePass,
    PrimFuncPass,
    Sequential,
    dataflowblock_pass,
    function_pass,
)

TEXT = """
func.func @main(%x: tensor<?xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    %a = "relax.match_cast"(%x)
        : (tensor<?xf32>) -> tensor<?xf32, #relax.dims<["n"], affine_map<()[s0] -> (s0)>>>
    %b = "relax.exp"(%y) : (tensor<4xf32>) -> tensor<4xf32>
    %c = "relax.add"(%b, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%c) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  %1 = "relax.dataflow"() ({
    %d = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%d) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
""".replace("(%x: tensor<?xf32>)", "(%x: tensor<?xf32>, %y: tensor<4xf32>)", 1)


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse(TEXT)


def operations(block):
    return block.regions[0].blocks[0].operations


def make(function):
    return dataflowblock_pass(function, opt_level=0, name="Block")


def test_sees_every_block(mod):
    seen = []

    @dataflowblock_pass(opt_level=1)
    def look(block, mod, ctx):
        seen.append([op.operation.name for op in operations(block)])
        return block

    assert isinstance(look, DataflowBlockPass)
    assert look.info.opt_level == 1
    assert str(look(mod)) == str(mod)
    assert seen == [
        ["relax.match_cast", "relax.exp", "relax.add", "relax.output"],
        ["relax.exp", "relax.output"],
    ]


def test_functions_and_blocks_are_those_of_relax(mod):
    seen = []

    class Exps(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            return relax.op.sin(*call.args) if call.op == relax.expr.Op.get("relax.exp") else call

    @function_pass(opt_level=0)
    def mutate(func, mod, ctx):
        assert isinstance(func, relax.Function)
        seen.append(len(func.params))
        seen.append([type(block).__name__ for block in func.body.blocks])
        return Exps().visit_expr(func)

    @dataflowblock_pass(opt_level=0)
    def look(block, mod, ctx):
        assert isinstance(block, relax.DataflowBlock)
        seen.append([len(block.bindings), block.operation.name])
        return block

    assert "relax.exp" not in str(mutate(mod))
    look(mod)
    assert seen[0] == 2
    assert seen[1] == ["DataflowBlock", "DataflowBlock"]
    assert seen[-1] == [1, "relax.dataflow"]

    made = dataflowblock_pass(lambda *_: relax.DataflowBlock([]), opt_level=0, name="made")
    with pytest.raises(PassError, match="returns a dataflow block, got DataflowBlock"):
        made(mod)


def test_on_a_class(mod):
    @dataflowblock_pass(opt_level=0)
    class Count:
        def __init__(self):
            self.count = 0

        def transform_dataflowblock(self, block, mod, ctx):
            self.count += 1
            return block

    count = Count()
    count(mod)
    assert count.count == 2


def test_changes_bindings_inside(mod):
    def use_multiply(block, mod, ctx):
        for op in operations(block):
            if op.operation.name == "relax.add":
                with ir.InsertionPoint(op):
                    new = build("multiply", list(op.operation.operands), {})
                op.operation.results[0].replace_all_uses_with(new)
                op.operation.erase()
        return block

    out = make(use_multiply)(mod)
    assert "relax.multiply" in str(out)
    assert "relax.add" not in str(out)
    assert "relax.add" in str(mod)


def test_another_block_takes_the_place(mod):
    def replace(block, mod, ctx):
        copy = block.clone(ip=False).operation
        copy.attributes["test.new"] = ir.UnitAttr.get()
        return copy

    out = make(replace)(mod)
    assert str(out).count("test.new") == 2
    out.verify()


def erase_match_cast(block, mod, ctx):
    for op in operations(block):
        if op.operation.name == "relax.match_cast":
            op.operation.erase()
    return block


def add_match_cast(block, mod, ctx):
    with ir.InsertionPoint.at_block_begin(block.regions[0].blocks[0]):
        text = '#relax.dims<["k"], affine_map<()[s0] -> (s0)>>'
        type_ = ir.Type.parse(f"tensor<?xf32, {text}>")
        value = block.parent.regions[0].blocks[0].arguments[0]
        ir.Operation.create("relax.match_cast", results=[type_], operands=[value])
    return block


def other_output(block, mod, ctx):
    terminator = list(operations(block))[-1].operation
    terminator.operands[0] = block.parent.regions[0].blocks[0].arguments[0]
    return block


def outside(block, mod, ctx):
    with ir.InsertionPoint(block.operation):
        build("exp", [block.parent.regions[0].blocks[0].arguments[1]], {})
    return block


def other_argument(block, mod, ctx):
    # Escapes and the number of bindings stay as they are, but somebody else reads something else.
    block.results[0].replace_all_uses_with(block.parent.regions[0].blocks[0].arguments[1])
    return block


def attribute_outside(block, mod, ctx):
    block.parent.attributes["test.mark"] = ir.UnitAttr.get()
    return block


def other_blocks(block):
    return [
        each.operation
        for each in block.parent.regions[0].blocks[0].operations
        if each.operation.name == "relax.dataflow" and each.operation != block.operation
    ]


def other_block(block, mod, ctx):
    for other in other_blocks(block):
        operations(other)[0].operation.attributes["test.mark"] = ir.UnitAttr.get()
    return block


def block_before(block, mod, ctx):
    # The last one changes the first, whose turn is past.
    (other,) = other_blocks(block)
    if other.is_before_in_block(block.operation):
        operations(other)[0].operation.attributes["test.mark"] = ir.UnitAttr.get()
    return block


def erase_block_after(block, mod, ctx):
    for other in other_blocks(block):
        if block.is_before_in_block(other):
            other.results[0].replace_all_uses_with(block.results[0])
            other.erase()
    return block


def move(block, mod, ctx):
    block.move_before(block.parent.regions[0].blocks[0].operations[0])
    return block


def argument_of_other_block(block, mod, ctx):
    for other in other_blocks(block):
        operation = operations(other)[0].operation
        operation.operands[0] = block.parent.regions[0].blocks[0].arguments[1]
    return block


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_argument, "anything outside the block"),
        (attribute_outside, "anything outside the block"),
        (other_block, "anything outside the block"),
        (block_before, "anything outside the block"),
        (erase_block_after, "anything outside the block"),
        (move, "anything outside the block"),
        (argument_of_other_block, "anything outside the block"),
        (erase_match_cast, r"bindings of symbols: the block bound n, now it binds nothing"),
        (add_match_cast, r"bindings of symbols: the block bound n, now it binds k, n"),
        (
            other_output,
            r"cannot change what escapes from the block: it was R.Tensor\(\(4,\), .float32.\), now",
        ),
        (outside, "cannot add, remove or change anything outside the block"),
        (lambda block, mod, ctx: None, "returns a dataflow block, got None"),
        (lambda block, mod, ctx: block.parent, "returns a dataflow block, got"),
    ],
)
def test_what_it_may_not_touch(mod, change, message):
    before = str(mod)
    with pytest.raises(PassError, match=message):
        make(change)(mod)
    assert str(mod) == before


def test_the_error_says_in_which_function_and_where(mod):
    with pytest.raises(PassError) as caught:
        make(lambda block, mod, ctx: 1 / 0)(mod)
    assert caught.value.pass_name == "Block"
    assert caught.value.diagnostics == (
        "-:2:1: error: 'func.func' op @main: ZeroDivisionError: division by zero",
    )


NESTED = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    %f = "relax.lambda"() ({
    ^bb0(%p: tensor<4xf32>):
      %i = "relax.dataflow"() ({
        %e = "relax.exp"(%p) : (tensor<4xf32>) -> tensor<4xf32>
        "relax.output"(%e) : (tensor<4xf32>) -> ()
      }) : () -> tensor<4xf32>
      "relax.yield"(%i) : (tensor<4xf32>) -> ()
    }) : () -> !relax.object
    %s = "relax.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%s) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_a_block_inside_another_comes_first():
    seen = []

    def strip(block, mod, ctx):
        names = [op.operation.name for op in operations(block)]
        seen.append(names)
        if "relax.lambda" in names:
            operations(block)[0].operation.erase()
        return block.clone(ip=False).operation

    out = make(strip)(IRModule.parse(NESTED))
    assert [names[0] for names in seen] == ["relax.exp", "relax.lambda"]
    assert "relax.lambda" not in str(out)
    out.verify()


def test_blocks_replaced_one_after_the_other():
    # The results of the first, which the second reads, are others by then.
    def replace(block, mod, ctx):
        return block.clone(ip=False).operation

    mod = IRModule.parse(TEXT)
    assert str(make(replace)(mod)) == str(mod)


def test_p17_helpers(mod):
    kinds = {
        CreateModulePass: ModulePass,
        CreateFunctionPass: FunctionPass,
        CreatePrimFuncPass: PrimFuncPass,
        CreateDataflowBlockPass: DataflowBlockPass,
    }
    for create, kind in kinds.items():
        made = create(lambda *args: args[0], 2, "Made", ["A"])
        assert type(made) is kind
        assert (made.info.name, made.info.opt_level, made.info.required) == ("Made", 2, ("A",))
    both = CreateSequentialPass([CreateModulePass(lambda mod, ctx: mod, 0, "M")], 1, "both")
    assert isinstance(both, Sequential)
    assert str(both(mod)) == str(mod)
