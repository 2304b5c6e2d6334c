"""Misuse of `relax.BlockBuilder` gives the documented errors, and leaves the module whole."""

import gc
from collections.abc import Callable

import pytest

from relax_mlir import relax
from relax_mlir.errors import BuilderError, ExprError, ExprTypeError, RelaxMLIRError
from relax_mlir.relax import op
from relax_mlir.script import from_source
from relax_mlir.script import relax as R


@pytest.fixture
def bb() -> relax.BlockBuilder:
    return relax.BlockBuilder()


@pytest.fixture
def x() -> relax.Var:
    return relax.Var("x", R.Tensor(("n", 4), "float32"))


def value_of_a_function_that_pauses(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        y = bb.emit(x + 1)
        with bb.function("g", []):
            bb.emit_func_output(y)


def output_twice(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        bb.emit_func_output(x)
        bb.emit_func_output(x)


def emit_after_output(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        bb.emit_func_output(x)
        bb.emit(x + 1)


def params_twice(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        bb.emit_func_output(x, params=[x])


def one_param_twice(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x, x]):
        pass


def no_params(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f"):
        bb.emit_func_output(x)


def param_left_out(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f"):
        bb.emit_func_output(x, params=[relax.Var("y", x.ty)])


def no_output(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        bb.emit(x + 1)


def outside(bb: relax.BlockBuilder, x: relax.Var) -> None:
    bb.emit(x + 1)


def output_outside(bb: relax.BlockBuilder, x: relax.Var) -> None:
    bb.emit_func_output(x)


def output_of_no_block(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        bb.emit_output(x)


def local_outside(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        with bb.dataflow():
            lv = bb.emit(x + 1)
        bb.emit(lv + 1)


def local_of_a_branch(bb: relax.BlockBuilder, x: relax.Var) -> None:
    c = relax.Var("c", R.Tensor((), "bool"))
    with bb.function("f", [x, c]):
        with bb.if_(c) as branch:
            with branch.then_():
                y = bb.emit(x + 1)
                branch.yield_(y)
            with branch.else_():
                branch.yield_(x)
        bb.emit(y)


def half_an_if(bb: relax.BlockBuilder, x: relax.Var) -> None:
    c = relax.Var("c", R.Tensor((), "bool"))
    with bb.function("f", [x, c]), bb.if_(c) as branch, branch.then_():
        branch.yield_(x)


def no_yield(bb: relax.BlockBuilder, x: relax.Var) -> None:
    c = relax.Var("c", R.Tensor((), "bool"))
    with bb.function("f", [x, c]), bb.if_(c) as branch, branch.then_():
        bb.emit(x)


def loop_in_dataflow(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]), bb.dataflow():
        bb.for_(3, [x])


def half_a_loop(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]), bb.while_([x]) as loop, loop.body() as (y,):
        loop.yield_(y)


def loop_carries_less(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]), bb.for_(3, [x, x]) as loop, loop.body() as (_, y, _):
        loop.yield_(y)


def nested_dataflow(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]), bb.dataflow(), bb.dataflow():
        pass


def output_inside_dataflow(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]), bb.dataflow():
        bb.emit_func_output(x)


def effects_in_dataflow(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]), bb.dataflow():
        bb.emit(op.call_packed("vm.builtin.print", x))


def if_in_dataflow(bb: relax.BlockBuilder, x: relax.Var) -> None:
    c = relax.Var("c", R.Tensor((), "bool"))
    with bb.function("f", [x, c]), bb.dataflow():
        bb.emit(relax.If(c, x, x))


def another_builder(bb: relax.BlockBuilder, x: relax.Var) -> None:
    other = relax.BlockBuilder()
    y = relax.Var("y", x.ty)
    with other.function("f", [y]):
        with bb.function("g", [x]):
            bb.emit(y + 1)
        other.emit_func_output(y)


def another_function(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        y = bb.emit(x + 1)
        bb.emit_func_output(y)
    with bb.function("g", [relax.Var("z", x.ty)]):
        bb.emit(y + 1)


def another_module(bb: relax.BlockBuilder, x: relax.Var) -> None:
    mod = from_source('@R.function\ndef f(v: R.Tensor((2,), "float32")):\n    return v\n')
    (v,) = relax.Function.of(mod["f"], mod).params
    with bb.function("g", [x]):
        bb.emit(v + 1)


def unknown(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        bb.emit(relax.Var("y", x.ty) + 1)


def name_taken(bb: relax.BlockBuilder, x: relax.Var) -> None:
    for _ in range(2):
        with bb.function("f", [x]):
            bb.emit_func_output(x)


def not_pure(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x], is_pure=True):
        bb.emit(op.call_packed("vm.builtin.print", x))
        bb.emit_func_output(x)


def update_of_nothing(bb: relax.BlockBuilder, x: relax.Var) -> None:
    bb.update_func(relax.GlobalVar("f"), relax.Function([x], x))


def end_of_no_scope(bb: relax.BlockBuilder, x: relax.Var) -> None:
    bb.end_scope()


def unfinished(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        bb.finalize()


def unfinished_alone(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        bb.get()


MISUSE: dict[Callable[..., None], str] = {
    value_of_a_function_that_pauses: "'gv' belongs to the function 'f', which has ended",
    output_twice: "the function 'f' has its output; nothing can follow it",
    emit_after_output: "nothing can follow it",
    params_twice: "the parameters of 'f' are given twice",
    one_param_twice: "a parameter of 'f' is given twice",
    no_params: "'f' has no parameters given.*pass \\[\\] for none",
    param_left_out: "'x' is used in 'f' but is none of its parameters",
    no_output: "function 'f' ends without its output: call emit_func_output",
    outside: "nothing can be emitted outside of a function",
    output_outside: "nothing can be emitted outside of a function",
    output_of_no_block: "emit_output belongs in a dataflow block",
    local_outside: "'lv' is local to its dataflow block.*emit_output",
    local_of_a_branch: "'gv' belongs to the branch, which has ended",
    half_an_if: "needs both branches",
    no_yield: "a branch must yield a value",
    loop_in_dataflow: "a loop may have effects or is control flow",
    half_a_loop: "a loop needs its body, and a 'while_' its condition",
    loop_carries_less: "the loop carries 2 values, yield_ got 1",
    nested_dataflow: "a dataflow block cannot stand inside another",
    output_inside_dataflow: "emit_func_output inside a dataflow block: close that first",
    effects_in_dataflow: "call_packed\\('vm.builtin.print'\\) may have effects",
    if_in_dataflow: "an if may have effects or is control flow",
    another_builder: "'y' belongs to another BlockBuilder",
    another_function: "'gv' belongs to the function 'f', which has ended",
    another_module: "'v' belongs to another function",
    unknown: "unknown variable 'y': it is no parameter",
    name_taken: "there is a function 'f' already",
    not_pure: "'f' is declared pure and has side effects",
    update_of_nothing: "there is no function 'f' to update",
    end_of_no_scope: "end_scope has no begin_scope",
    unfinished: "the function 'f' has not ended",
    unfinished_alone: "the function 'f' has not ended and the module has no other; call get after",
}


@pytest.mark.parametrize("misuse", MISUSE, ids=lambda each: each.__name__)
def test_misuse(misuse: Callable[..., None], bb: relax.BlockBuilder, x: relax.Var) -> None:
    with pytest.raises(BuilderError, match=MISUSE[misuse]) as raised:
        misuse(bb, x)
    assert isinstance(raised.value, (RelaxMLIRError, RuntimeError))
    assert relax.BlockBuilder.current() is None
    # What was begun is gone, and the builder goes on.
    kept = ["f"] if misuse in (another_function, name_taken) else []
    assert bb.get().function_names == kept
    y = relax.Var("y", R.Tensor((2,), "float32"))
    with bb.function("after", [y]):
        bb.emit_func_output(y + 1)
    bb.get().verify()


def test_variables_of_a_function_that_failed_can_be_held(
    bb: relax.BlockBuilder, x: relax.Var
) -> None:
    held: list[relax.Var] = []

    def fail() -> None:
        with bb.function("f", [x]), bb.dataflow():
            held.append(bb.emit(x + 1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    del bb
    gc.collect()
    assert held[0].ty == x.ty
    assert repr(held[0]) == "lv"


def condition_left_open(bb: relax.BlockBuilder, x: relax.Var) -> None:
    loop = bb.while_([x])
    with loop.cond() as (y,):
        loop.yield_(bb.emit(op.sum(y)) < op.sum(x))
    with loop.body() as (y,):
        loop.yield_(y + x)


def branches_left_open(bb: relax.BlockBuilder, x: relax.Var) -> None:
    branch = bb.if_(op.sum(x) < 0)
    for arm in (branch.then_(), branch.else_()):
        with arm:
            branch.yield_(bb.emit(x + 1))


def body_that_fails(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.while_([x]) as loop, loop.body() as (y,):
        bb.emit(op.sum(x) + op.sum(y))
        raise BuilderError("enough")


@pytest.mark.slow
@pytest.mark.parametrize("begin", [condition_left_open, branches_left_open, body_that_fails])
@pytest.mark.parametrize("held", [True, False])
def test_half_of_a_region_dies_in_any_order(
    begin: Callable[[relax.BlockBuilder, relax.Var], None], held: bool, x: relax.Var
) -> None:
    """MLIR aborts the process when a value dies before its uses."""
    kept: list[object] = []

    def build() -> None:
        bb = relax.BlockBuilder()
        kept.append(bb)
        with bb.function("f", [x]):
            kept.append(bb.emit(x + 2))
            begin(bb, x)

    for _ in range(4):
        with pytest.raises(BuilderError):
            build()
        if not held:
            kept.clear()
        gc.collect()
    kept.clear()
    gc.collect()


def test_a_scope_that_nobody_closes(x: relax.Var) -> None:
    """What is built in it dies with the builder, in whatever order Python chooses."""
    bb = relax.BlockBuilder()

    def forget() -> None:
        with bb.function("f", [x]):
            bb.begin_scope()
            bb.emit(x + 1)
            bb.emit_func_output(x)

    with pytest.raises(BuilderError):
        forget()
    bb.begin_scope()
    bb.emit(x + 1)
    del bb
    gc.collect()


WRONG: dict[str, tuple[Callable[[relax.Var], object], type[Exception], str]] = {
    "shapes": (lambda x: op.add(x, relax.const([1.0, 2.0, 3.0])), ExprError, "cannot be broadcast"),
    "dtypes": (lambda x: op.add(x, relax.const(1, "int64")), ExprError, "dtypes must match"),
    "rank": (lambda x: op.permute_dims(x, [0, 1, 2]), ExprError, "needs 2 axes"),
    "number": (lambda x: 3.5 + op.astype(x, "int32"), ExprError, "3.5 is not a number of dtype"),
    "kind": (lambda x: op.exp([x]), ExprTypeError, "must be a tensor or number"),
    "no value": (lambda x: op.exp(relax.GlobalVar("f")), ExprError, "tensor"),
    "missing": (lambda x: op.add(x), ExprError, "needs argument 'x2'"),
    "too many": (lambda x: op.exp(x, x), ExprError, "takes 1 argument, got 2"),
    "keyword": (lambda x: op.sum(x, axes=1), ExprError, "no argument 'axes'; did you mean 'axis'"),
    "attribute": (lambda x: op.sum(x, axis="one"), ExprError, "expected ints, got 'one'"),
    "dtype": (lambda x: x.astype("flot32"), ExprError, "unknown dtype.*did you mean"),
    "sizes": (lambda x: op.reshape(x, 12), ExprTypeError, "must be a shape such as"),
    "constant": (
        lambda x: op.grad.start_checkpoint(relax.const(1.0)),
        ExprTypeError,
        "be a variable",
    ),
    "hole": (lambda x: op.reshape(x, (-1, -1)), ExprError, "only one dimension"),
    "object": (lambda x: op.exp(object()), ExprTypeError, "a Python object has no meaning"),
    "tuple": (lambda x: relax.Tuple([x])[1], IndexError, "out of range: 1 of a tuple of 1"),
    "output": (lambda x: op.call_tir("f", x, R.Object), ExprTypeError, "must be a tensor"),
    "no shape": (lambda x: op.call_tir("f", x, R.Tensor(ndim=2)), ExprError, "must be known"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_expressions(kind: str, bb: relax.BlockBuilder, x: relax.Var) -> None:
    make, error, message = WRONG[kind]

    def build() -> None:
        with bb.function("f", [x]):
            bb.emit(make(x))

    with pytest.raises(error, match=message):
        build()
    assert bb.get().function_names == []


def test_a_match_cast_that_cannot_succeed(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with pytest.raises(ExprError, match="cannot succeed"), bb.function("f", [x]):
        bb.match_cast(x, R.Tensor((2, 3, 4), "float32"))


def test_symbols_without_values(bb: relax.BlockBuilder, x: relax.Var) -> None:
    c = relax.Var("c", R.Tensor((), "bool"))

    def refused(emit: Callable[[], object]) -> None:
        with pytest.raises(ExprError, match=r"symbol 'k' has no value here.*bind it first"):
            emit()

    with bb.function("f", [x, c]):
        refused(lambda: bb.emit(op.zeros(("k", 4), "float32")))
        refused(lambda: bb.emit(relax.PrimValue("k + n")))
        with bb.if_(c) as branch:
            with branch.then_():
                bb.match_shape(x, ("k", 4))
                branch.yield_(op.zeros(("k",), "float32"))
            with branch.else_():
                refused(lambda: bb.emit(relax.ShapeExpr(("k",))))
                branch.yield_(op.zeros(("n",), "float32"))
        refused(lambda: bb.emit(relax.ShapeExpr(("k",))))
        with bb.dataflow():
            bb.match_cast(op.unique(op.flatten(x)), R.Tensor(("k",), "float32"))
        bb.emit_func_output(op.zeros(("k", "n"), "float32"))
    bb.get().verify()
    relax.build(bb.get())


def test_a_loop_keeps_its_types(bb: relax.BlockBuilder, x: relax.Var) -> None:
    def build() -> None:
        with bb.function("f", [x]), bb.for_(3, [x]) as loop, loop.body() as (_, y):
            loop.yield_(op.sum(y))

    with pytest.raises(ExprError, match="say what it carries by types="):
        build()
    assert bb.get().function_names == []


def test_calls_of_functions_are_checked(bb: relax.BlockBuilder, x: relax.Var) -> None:
    with bb.function("f", [x]):
        bb.emit_func_output(x)
    f = relax.GlobalVar("f")
    y = relax.Var("y", R.Tensor((3,), "float32"))
    with pytest.raises(ExprError, match="'f' takes 1 argument, got 2"), bb.function("g", [y]):
        bb.emit(f(y, y))
    with pytest.raises(ExprError, match="argument 0 of 'f' must be"), bb.function("h", [y]):
        bb.emit(f(y))


def test_unknown_operations() -> None:
    with pytest.raises(AttributeError, match=r"no operation relax\.op\.sofmax; did you mean"):
        op.sofmax
    with pytest.raises(ExprError, match=r"there is no operation 'relax\.ad'; did you mean"):
        relax.expr.Op.get("relax.ad")
