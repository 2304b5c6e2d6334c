"""Rewrite patterns as passes: Python functions and PDL under MLIR's greedy driver."""

import subprocess
import sys

import pytest

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import build
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import PassContext, Sequential, mlir, pattern, pdl, rewrite

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.add"(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
PDL = """
pdl.pattern : benefit(1) {
  %lhs = operand
  %rhs = operand
  %type = type
  %root = operation "relax.add"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  CONSTRAINT
  rewrite %root { REWRITE }
}
"""
TO_MULTIPLY = """
  %new = operation "relax.multiply"(%lhs, %rhs : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  replace %root with %new
"""


@pytest.fixture
def mod() -> IRModule:
    return IRModule.parse(TEXT)


def names(mod):
    return [op.operation.name for op in mod["main"].mlir_op.regions[0].blocks[0].operations]


@pattern("relax.add")
def same_to_multiply(op, rewriter):
    """`x + x` becomes a product, the rest stays."""
    lhs, rhs = op.operands
    if lhs == rhs:
        return build("multiply", [lhs, rhs], {})
    return None


@pattern("relax.multiply")
def to_square(op, rewriter):
    return build("exp", [op.operands[0]], {})


def test_where_it_matches(mod):
    out = rewrite(same_to_multiply)(mod)
    assert names(out) == ["relax.multiply", "relax.add", "func.return"]
    assert names(mod) == ["relax.add", "relax.add", "func.return"]


def test_patterns_work_on_each_others_results(mod):
    assert names(rewrite(same_to_multiply, to_square)(mod))[0] == "relax.exp"


def test_locations_are_kept(mod):
    out = rewrite(same_to_multiply)(mod)
    new = out["main"].mlir_op.regions[0].blocks[0].operations[0]
    assert "3:8" in str(new.location)


def test_benefit_decides():
    tried = []
    first = pattern("relax.add", benefit=3)(lambda op, rewriter: tried.append("first"))
    second = pattern("relax.add")(lambda op, rewriter: tried.append("second"))
    rewrite(second, first)(IRModule.parse(TEXT))
    assert tried[:2] == ["first", "second"]


@pytest.mark.parametrize("as_list", [False, True])
def test_results_in_every_form(mod, as_list):
    @pattern("relax.add")
    def forward(op, rewriter):
        return [op.operands[0]] if as_list else op.operands[0]

    assert names(rewrite(forward)(mod)) == ["func.return"]


def test_a_pattern_that_does_it_itself(mod):
    @pattern("relax.add")
    def mark(op, rewriter):
        if "test.seen" in op.attributes:
            return None
        op.attributes["test.seen"] = ir.UnitAttr.get()
        return True

    assert str(rewrite(mark)(mod)).count("test.seen") == 2


def test_it_is_a_pass_like_any_other(mod):
    both = Sequential([mlir("cse"), rewrite(same_to_multiply, name="Mul", opt_level=3)])
    assert "relax.multiply" not in str(both(mod))
    with PassContext(opt_level=3):
        assert "relax.multiply" in str(both(mod))


def test_a_pattern_that_feeds_itself(mod):
    @pattern("relax.add")
    def swap(op, rewriter):
        return build("add", [op.operands[1], op.operands[0]], {})

    with pytest.raises(PassError, match="pass 'swap' failed: no end after 50 rewrites"):
        rewrite(swap, max_rewrites=50)(mod)


def test_an_error_names_the_operation_and_its_place(mod):
    @pattern("relax.add")
    def wrong(op, rewriter):
        return op.operands[3]

    with pytest.raises(PassError) as caught:
        rewrite(wrong)(mod)
    assert caught.value.pass_name == "wrong"
    assert isinstance(caught.value.__cause__, IndexError)
    (line,) = caught.value.diagnostics
    assert line.startswith("-:3:8: error: 'relax.add' op pattern 'wrong': IndexError")


def test_only_patterns():
    with pytest.raises(TypeError, match=r"is @pattern\('op.name'\) missing"):
        rewrite(lambda op, rewriter: None)


def test_pdl(mod):
    text = PDL.replace("CONSTRAINT", "").replace("REWRITE", TO_MULTIPLY)
    assert names(pdl(text)(mod)) == ["relax.multiply", "relax.multiply", "func.return"]


def test_pdl_with_a_constraint_in_python(mod):
    text = PDL.replace(
        "CONSTRAINT", 'apply_native_constraint "same"(%lhs, %rhs : !pdl.value, !pdl.value)'
    ).replace("REWRITE", TO_MULTIPLY)
    run = pdl(text, constraints={"same": lambda lhs, rhs: lhs == rhs})
    assert names(run(mod)) == ["relax.multiply", "relax.add", "func.return"]


def test_pdl_with_a_rewrite_in_python(mod):
    text = PDL.replace("CONSTRAINT", "").replace(
        "REWRITE",
        '%new = apply_native_rewrite "make"(%root : !pdl.operation) : !pdl.operation\n'
        "  replace %root with %new",
    )
    run = pdl(
        text,
        rewrites={"make": lambda rewriter, op: build("multiply", list(op.operands), {}).owner},
    )
    assert names(run(mod)) == ["relax.multiply", "relax.multiply", "func.return"]


def test_pdl_that_does_not_parse(mod):
    with pytest.raises(PassError, match="pass 'mine' failed: the patterns do not parse"):
        pdl("nonsense", name="mine")(mod)


def test_pdl_with_a_bug_in_python(mod):
    text = PDL.replace(
        "CONSTRAINT", 'apply_native_constraint "bug"(%lhs, %rhs : !pdl.value, !pdl.value)'
    ).replace("REWRITE", TO_MULTIPLY)
    with pytest.raises(PassError, match="ZeroDivisionError"):
        pdl(text, constraints={"bug": lambda lhs, rhs: 1 / 0})(mod)


# Each of these took the process down with it, hence the processes of their own.
BAD_RESULTS = """
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import pattern, rewrite

mod = IRModule.parse(TEXT)

def erase(op, rewriter):
    rewriter.erase_op(op)
    return True

def twice(op, rewriter):
    rewriter.replace_op(op, op.operands[0])
    return op.operands[0]

def silent(op, rewriter):
    rewriter.replace_op(op, op.operands[0])

def replace_itself(op, rewriter):
    rewriter.replace_op(op, op)
    return True

for each in (
    lambda op, rewriter: [],
    lambda op, rewriter: [op.operands[0]] * 2,
    lambda op, rewriter: op.results[0],
    lambda op, rewriter: op,
    lambda op, rewriter: op.clone(ip=False),
    lambda op, rewriter: list(op.block.operations)[1].operation.results[0]
    if op == list(op.block.operations)[0].operation else None,
    lambda op, rewriter: 5,
    erase, twice, silent, replace_itself,
):
    try:
        rewrite(pattern("relax.add")(each), name="bad")(mod)
        print("accepted")
    except PassError as error:
        print(str(error).splitlines()[0])
"""


def test_results_that_cannot_replace():
    assert _lines_of(BAD_RESULTS) == [
        f"pass 'bad' failed: {line}"
        for line in (
            "ValueError: 0 values for 1 results",
            "ValueError: 2 values for 1 results",
            "ValueError: the replacement is the operation's own result",
            "ValueError: the replacement is the operation itself",
            "ValueError: the replacement's 'relax.add' is in no block",
            "ValueError: the replacement is not defined in front of the operation",
            "TypeError: 5 cannot replace a result: it is no value",
            "ValueError: 'relax.add' cannot be erased: its results are in use, by 'relax.add'",
            "ValueError: the operation is already erased or replaced",
            "ValueError: it removed the operation, so it has to return True",
            "ValueError: the replacement is the operation itself",
        )
    ]


BAD_NATIVES = """
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import pdl

mod = IRModule.parse(TEXT)
call = '%new = apply_native_rewrite "make"(%root : !pdl.operation) : !pdl.'
as_value = call + "value\\n replace %root with (%new : !pdl.value)"
as_operation = call + "operation\\n replace %root with %new"
natives = [
    (as_value, lambda rewriter, op: 1 / 0),
    (as_operation, lambda rewriter, op: 1 / 0),
    (as_value, lambda rewriter, op: None),
    (as_value, lambda rewriter, op: 5),
    (as_value, lambda rewriter, op: op),
    (as_value, lambda rewriter, op: op.results[0]),
    (as_operation, lambda rewriter, op: op.results[0]),
    (as_operation, lambda rewriter, op: op.operation.clone(ip=False)),
    (as_value, lambda rewriter, op: rewriter.replace_op(op, op.operands[0])),
    (call + "range<value>\\n replace %root with (%new : !pdl.range<value>)", list),
]
runs = [
    pdl(PDL.replace("CONSTRAINT", "").replace("REWRITE", text), rewrites={"make": make})
    for text, make in natives
]
runs.append(pdl(PDL.replace("CONSTRAINT", "").replace("REWRITE", as_value)))
held = PDL.replace("CONSTRAINT", 'apply_native_constraint "holds"(%lhs : !pdl.value)')
runs.append(pdl(held.replace("REWRITE", "erase %root"), rewrites={"holds": print}))
for run in runs:
    try:
        run(mod)
        print("accepted")
    except PassError as error:
        print(str(error).splitlines()[0])
"""


ERASING = """
from relax_mlir.errors import PassError
from relax_mlir.ir.module import IRModule
from relax_mlir.transform import module_pass, pattern, pdl, rewrite

mod = IRModule.parse('''
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %a = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = "relax.add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = "relax.sin"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}
''')

def user(op):
    user = next(iter(op.results[0].uses)).owner.operation
    user.results[0].replace_all_uses_with(op.operands[0])
    return user

def by_itself(op, rewriter):
    user(op).erase()
    return op.operands[0]

def the_view(op, rewriter):
    user(op).opview.erase()
    return op.operands[0]

def root(op, rewriter):
    op.results[0].replace_all_uses_with(op.operands[0])
    op.erase()
    return True

def gone(op, rewriter):
    other = user(op)
    other.erase()
    return other.results[0]

def in_use(op, rewriter):
    op.operands[0].owner.erase()

def detached(op, rewriter):
    user(op).detach_from_parent()

def the_function(op, rewriter):
    op.parent.erase()

def another_module(op, rewriter):
    other = IRModule.parse("func.func private @f()")
    other["f"].mlir_op.erase()

def run(each):
    try:
        print(str(each(mod)).count("relax."))
    except PassError as error:
        print(str(error).splitlines()[0])

for each in (
    by_itself, the_view, root, gone, in_use, detached, the_function, another_module
):
    run(rewrite(pattern("relax.add")(each), name="bad"))

def looking(value):
    value.owner.erase()
    return True

run(pdl('''pdl.pattern : benefit(1) {
  %x = operand
  apply_native_constraint "looking"(%x : !pdl.value)
  %type = type
  %root = operation "relax.sin"(%x : !pdl.value) -> (%type : !pdl.type)
  rewrite %root { replace %root with (%x : !pdl.value) }
}''', constraints={"looking": looking}, name="bad"))

@module_pass(opt_level=0, name="bad")
def careless(mod, ctx):
    mod["main"].mlir_op.regions[0].blocks[0].operations[0].operation.erase()
    return mod

run(careless)
print(str(mod).count("relax."))
"""


def test_what_is_erased_takes_nothing_down():
    assert _lines_of(ERASING) == [
        "2",
        "2",
        "3",
        "pass 'bad' failed: ValueError: the operation is already erased or replaced",
        "pass 'bad' failed: ValueError: 'relax.exp' cannot be erased: its results are in use, by "
        "'relax.add'",
        "pass 'bad' failed: ValueError: a rewrite cannot detach 'relax.sin': clone or move it, and "
        "erase it with rewriter.erase_op",
        "pass 'bad' failed: ValueError: 'func.func' cannot be erased: the operation that matched "
        "is in it",
        "4",
        "pass 'bad' failed: ValueError: 'relax.add' cannot be erased: its results are in use, by "
        "'relax.sin'",
        "pass 'bad' failed: ValueError: 'relax.exp' cannot be erased: its results are in use, by "
        "'relax.add'",
        "4",
    ]


def test_native_rewrites_that_fail():
    lines = [line.removeprefix("pass 'pdl' failed: ") for line in _lines_of(BAD_NATIVES)]
    assert lines[:4] == [
        "ZeroDivisionError: division by zero",
        "ZeroDivisionError: division by zero",
        "ValueError: 0 results where the PDL takes 1",
        "TypeError: 5 where the PDL takes a value",
    ]
    assert lines[4].endswith("where the PDL takes a value")
    assert lines[5] == "ValueError: the replacement is the operation's own result"
    assert lines[6].endswith("where the PDL takes an operation")
    assert lines[7:] == [
        "ValueError: the replacement's 'relax.add' is in no block",
        "ValueError: the PDL itself replaces or erases the operation",
        "the rewrite 'make' gives !pdl.range<value>: not supported",
        "the patterns name the rewrite 'make', which was not passed",
        "the patterns name the constraint 'holds', which was not passed",
    ]


def test_one_native_rewrite_in_two_places(mod):
    text = PDL.replace("CONSTRAINT", "").replace(
        "REWRITE",
        '%one = apply_native_rewrite "pick"(%lhs : !pdl.value) : !pdl.value\n'
        '  apply_native_rewrite "pick"(%rhs, %rhs : !pdl.value, !pdl.value)\n'
        "  replace %root with (%one : !pdl.value)",
    )
    given = {"pick": lambda rewriter, *values: values[0] if len(values) == 1 else None}
    run = pdl(text, rewrites=given)
    assert names(run(mod)) == ["func.return"]


def test_a_rewrite_all_in_python(mod):
    text = PDL[: PDL.index("CONSTRAINT")] + 'rewrite %root with "forward"(%lhs : !pdl.value)\n}'
    run = pdl(text, rewrites={"forward": lambda rewriter, op, lhs: rewriter.replace_op(op, lhs)})
    assert names(run(mod)) == ["func.return"]


@pytest.mark.parametrize("root", ["", "exp", "relax.", "relax.nope", "nope.exp"])
def test_a_root_that_does_not_exist(mod, root):
    nothing = pattern(root)(lambda op, rewriter: None)
    with pytest.raises(PassError, match=f"the root of pattern '<lambda>': .* named '{root}'"):
        rewrite(nothing)(mod)


def test_roots_of_other_dialects(mod):
    for root in ("func.return", "linalg.generic", "arith.addf", "tensor.empty"):
        rewrite(pattern(root)(lambda op, rewriter: None))(mod)


@pytest.mark.parametrize("text", ["", "func.func private @f()"])
def test_pdl_without_patterns(mod, text):
    with pytest.raises(PassError, match=r"pass 'pdl' failed: the text has no pdl\.pattern"):
        pdl(text)(mod)


def test_pdl_of_an_operation_that_does_not_exist(mod):
    text = PDL.replace("CONSTRAINT", "").replace("REWRITE", TO_MULTIPLY)
    with pytest.raises(PassError, match=r"no operation is named 'relax\.nope'"):
        pdl(text.replace("relax.add", "relax.nope"))(mod)


def test_a_value_of_the_enclosing_function():
    inside = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.function} {
  %0 = "relax.dataflow"() ({
    %1 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "relax.output"(%1) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
    forward = pattern("relax.add")(lambda op, rewriter: op.operands[0])
    assert "relax.add" not in str(rewrite(forward)(IRModule.parse(inside)))


def _lines_of(script):
    source = f"TEXT = {TEXT!r}\nPDL = {PDL!r}\n{script}"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout.splitlines()
