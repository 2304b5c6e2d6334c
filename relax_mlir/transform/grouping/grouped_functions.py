"""Groups of bindings of a dataflow block as private functions, and calls in their place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.locations import location_name, nameless
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.tuples import call_arguments, get_item, is_tuple, make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import BuilderError
from relax_mlir.relax.analysis.symbols import free_symbolic_vars, symbols_in
from relax_mlir.relax.builder.functions import FunctionTable
from relax_mlir.relax.expr.functions import Function
from relax_mlir.relax.expr.places import defining_op, is_binding, is_leaf, is_local
from relax_mlir.relax.expr_functor.edit import erase, erase_unused
from relax_mlir.relax.expr_functor.rewrite import sort_block
from relax_mlir.transform.relax.rebuild import takes_arguments

func: ModuleType = submodule("dialects.func")

PRIMITIVE, COMPOSITE, CODEGEN = "relax.Primitive", "relax.Composite", "relax.Codegen"
_GET_ITEM = "relax.tuple_get_item"
KERNEL_CALLS = ("relax.call_tir", "relax.call_tir_inplace")
_PREFIX = "fused_"
# The operations that TVM's names have in `relax.nn`.
_NN = frozenset(
    f"relax.{name}"
    for name in (
        *("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "attention"),
        *("attention_var_len", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_flatten"),
        *("batch_norm", "conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d"),
        *("conv3d_transpose", "cross_entropy_with_logits", "dropout", "gelu", "gelu_tanh"),
        *("group_norm", "instance_norm", "layer_norm", "leakyrelu", "log_softmax", "max_pool1d"),
        *("max_pool2d", "max_pool3d", "nll_loss", "pad", "pixel_shuffle", "prelu", "relu"),
        *("relu6", "rms_norm", "selu", "silu", "softmax", "softplus"),
    )
)


@dataclass
class Group:
    """Bindings that become one function.

    Attributes:
        ops: the bindings, in order.
        attributes: what the function has besides `Primitive`.
    """

    ops: list[ir.Operation]
    attributes: dict[str, ir.Attribute] = field(default_factory=dict)


def bindings_of(dataflow: ir.Operation) -> list[ir.Operation]:
    """Return the bindings of a dataflow block, in order."""
    ops = [view.operation for view in dataflow.regions[0].blocks[0].operations]
    return [op for op in ops if is_binding(op)]


def parts_of(value: ir.Value) -> list[ir.Value]:
    """Return a value, or the fields of a tuple that is made in place."""
    op = defining_op(value)
    if op is None or not is_leaf(op) or not is_tuple(value.type):
        return [value]
    return [part for operand in op.operands for part in parts_of(operand)]


def inputs_of(op: ir.Operation) -> list[ir.Value]:
    """Return what an operation is given: of a call of a prim func the tensors only."""
    values = call_arguments(op) if takes_arguments(op.name) else list(op.operands)
    return [part for value in values for part in parts_of(value)]


class GroupedFunctions:
    """Makes functions of groups of bindings in one module.

    Args:
        module: the `builtin.module`.
        lift_constants: whether constants become parameters; otherwise they are in the functions.
    """

    def __init__(self, module: ir.Operation, lift_constants: bool = True) -> None:
        self._table = FunctionTable(module.regions[0].blocks[0])
        self._lift_constants = lift_constants

    def make(self, dataflow: ir.Operation, groups: Iterable[Group]) -> None:
        """Replace each group by a call of a new function, or of an equal one of the module.

        A call stands where the first binding of the group did, and what it needs is moved in front
        of it. Bindings that nothing outside of their group uses go.

        Args:
            dataflow: the dataflow block.
            groups: bindings of it; no binding outside of a group may stand between two of the group
                on a path of uses.

        Raises:
            BuilderError: groups need each other.
        """
        block = dataflow.regions[0].blocks[0]
        place = {view.operation: index for index, view in enumerate(block.operations)}
        # The first call that is made takes the place of bindings, so these are asked before.
        with_outputs = [(group, _outputs(group, place)) for group in groups]
        for group, outputs in with_outputs:
            if outputs:
                self._make(_Body(group, outputs, self._lift_constants))
            else:
                _erase(group.ops)
        if not with_outputs:
            return
        try:
            sort_block(block)
        except BuilderError as error:
            raise BuilderError(
                "A cyclic dependency detected between groups: each needs a result of the other"
            ) from error

    def _make(self, body: "_Body") -> None:
        function = body.function()
        name = self._table.same(function)
        if name is None:
            name = self._table.names.fresh(_name(body.ops))
            self._table.insert(function, name)
        body.call(name)


def _outputs(group: Group, place: Mapping[ir.Operation, int]) -> list[ir.Operation]:
    """Return whose results are used outside: those that leave the block, then by first use."""
    inside = set(group.ops)
    leaving, used = [], {}
    for op in group.ops:
        if not is_local(op.results[0]):
            leaving.append(op)
        elif places := [place[user] for user in _users(op) if user not in inside]:
            used[op] = min(places)
    return [*leaving, *sorted(used, key=used.__getitem__)]


def _users(op: ir.Operation) -> Iterable[ir.Operation]:
    """Yield the operations that use a result, or a tuple that is made of it for them."""
    waiting = [op.results[0]]
    while waiting:
        for use in waiting.pop().uses:
            user = use.owner.operation
            if is_leaf(user):
                waiting.append(user.results[0])
            else:
                yield user


class _Body:
    """One group: its parameters, arguments and outputs."""

    def __init__(self, group: Group, outputs: list[ir.Operation], lift_constants: bool) -> None:
        self.ops, self.outputs = group.ops, outputs
        self._computed = [op for op in group.ops if op in outputs]
        self._attributes, self._lift_constants = group.attributes, lift_constants
        self._inside = set(group.ops)
        # The parameter for each value from outside; several for a tuple of which fields are taken.
        self._arguments: dict[ir.Value, str] = {}
        self._items: dict[ir.Value, list[int]] = {}
        self._symbols: list[SymExpr] = []
        self._note_arguments()

    def _note_arguments(self) -> None:
        whole: set[ir.Value] = set()
        for op in self.ops:
            for value in inputs_of(op):
                owner = defining_op(value)
                if (owner in self._inside if owner is not None else False) or self._is_inlined(
                    value
                ):
                    continue
                name = location_name(value.location if owner is None else owner.location)
                number = sum(each.startswith("param_") for each in self._arguments.values())
                self._arguments.setdefault(value, name or f"param_{number}")
                if op.name == _GET_ITEM:
                    index = op.attributes["index"].value
                    items = self._items.setdefault(value, [])
                    items += [index] if index not in items else []
                else:
                    whole.add(value)
        for value in whole:
            self._items.pop(value, None)

    def _is_inlined(self, value: ir.Value) -> bool:
        """Whether a value is known wherever the function is called."""
        op = defining_op(value)
        if op is None:
            return False
        if op.name == "relax.constant":
            return not self._lift_constants
        if op.name in ("relax.shape_expr", "relax.prim_value"):
            return not symbols_in(op)
        return is_leaf(op) and all(map(self._is_inlined, op.operands))

    def function(self) -> ir.Operation:
        """Return the function, which stands in no module yet."""
        names, types = [], []
        for value, name in self._arguments.items():
            for index in self._items.get(value, [None]):
                names.append(name if index is None else f"{name}_{index}")
                types.append(value.type if index is None else value.type.get_type(index))
        with nameless(self.ops[-1].location):
            op = func.FuncOp("fused", (types, []), visibility="private", ip=False).operation
            block = op.regions[0].blocks.append(
                *types, arg_locs=[ir.Location.name(name) for name in names]
            )
            values, items = self._parameters(block)
            with ir.InsertionPoint(block):
                outer = ir.Operation.create("relax.dataflow", results=[], regions=1)
            results = self._fill(outer.regions[0].blocks.append(), values, items)
            self._close(op, block, outer, results, names)
        return op

    def _parameters(
        self, block: ir.Block
    ) -> tuple[dict[ir.Value, ir.Value], dict[tuple[ir.Value, int], ir.Value]]:
        given = iter(list(block.arguments))
        values, items = {}, {}
        for value in self._arguments:
            if value in self._items:
                items.update({(value, index): next(given) for index in self._items[value]})
            else:
                values[value] = next(given)
        return values, items

    def _fill(
        self, block: ir.Block, values: dict[ir.Value, ir.Value],
        items: Mapping[tuple[ir.Value, int], ir.Value],
    ) -> list[ir.Value]:  # fmt: skip
        """Copy the bindings, and return what the function's outputs are inside."""
        with ir.InsertionPoint(block):
            for op in self.ops:
                if op.name == _GET_ITEM:
                    key = op.operands[0], op.attributes["index"].value
                    if key in items:
                        values[op.results[0]] = items[key]
                        continue
                operands = [_inside(value, values) for value in op.operands]
                copy = op.clone().operation
                for index, value in enumerate(operands):
                    copy.operands[index] = value
                values[op.results[0]] = copy.results[0]
            # As they are computed; the tuple that is returned has them in the order of outputs.
            results = [values[op.results[0]] for op in self._computed]
            ir.Operation.create("relax.output", operands=_packed(results))
        return results

    def _close(
        self, op: ir.Operation, block: ir.Block, empty: ir.Operation,
        results: Sequence[ir.Value], names: list[str],
    ) -> None:  # fmt: skip
        """End the function: its dataflow block gets results, and it attributes."""
        types = [value.type for value in results]
        type_ = types[0] if len(types) == 1 else ir.TupleType.get_tuple(types)
        with ir.InsertionPoint(empty):
            outer = ir.Operation.create("relax.dataflow", results=[type_], regions=1)
        next(iter(empty.regions[0].blocks)).append_to(outer.regions[0])
        empty.erase()
        with ir.InsertionPoint(block):
            value = outer.result
            if len(types) > 1:
                fields = {}
                for index, each in enumerate(self._computed):
                    with ir.Location.name(location_name(each.location)):
                        fields[each] = get_item(value, index)
                value = make_tuple([fields[each] for each in self.outputs])
            func.ReturnOp([value])
        self._symbols = free_symbolic_vars(Function.of(op))
        if self._symbols:
            shape = T.shape_type(self._symbols)
            block.add_argument(shape, ir.Location.name("tir_vars"))
            names.append("tir_vars")
        inputs = [argument.type for argument in block.arguments]
        attributes = {
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, [value.type])),
            "relax.function": ir.UnitAttr.get(),
            "relax.params": ir.ArrayAttr.get([ir.StringAttr.get(name) for name in names]),
            PRIMITIVE: ir.BoolAttr.get(True),
            **self._attributes,
        }
        for name, attribute in attributes.items():
            op.attributes[name] = attribute

    def call(self, name: str) -> None:
        """Call a function of the module in the place of the first binding, and erase the group."""
        first, last = self.ops[0], self.ops[-1]
        place = last.location if len(self.outputs) == 1 else nameless(last.location)
        values = []
        with ir.InsertionPoint(first), nameless(place):
            for value in self._arguments:
                indices = self._items.get(value)
                values += [value] if indices is None else [get_item(value, i) for i in indices]
            if self._symbols:
                shape = T.shape_type(self._symbols)
                values.append(ir.Operation.create("relax.shape_expr", results=[shape]).result)
            arguments = make_tuple(values)
        with ir.InsertionPoint(first), place:
            types = [op.results[0].type for op in self.outputs]
            made = ir.Operation.create(
                "relax.call",
                results=[types[0] if len(types) == 1 else ir.TupleType.get_tuple(types)],
                operands=[arguments],
                attributes={
                    "callee": ir.FlatSymbolRefAttr.get(name), "pure": ir.UnitAttr.get(),
                },
            ).result  # fmt: skip
            for op in self._computed:
                new = made
                if len(self._computed) > 1:
                    with op.location:
                        new = get_item(made, self.outputs.index(op))
                op.results[0].replace_all_uses_with(new)
        _erase(self.ops)


def _inside(value: ir.Value, values: dict[ir.Value, ir.Value]) -> ir.Value:
    """Return what a value is in the function; what is part of an expression is copied."""
    if value in values:
        return values[value]
    op = defining_op(value)
    assert op is not None, "parameters are arguments"
    return ir.Operation.create(
        op.name,
        results=[value.type],
        operands=[_inside(operand, values) for operand in op.operands],
        attributes=dict(op.attributes.items()),
        loc=nameless(op.location),
    ).result


def _packed(values: Sequence[ir.Value]) -> list[ir.Value]:
    return list(values) if len(values) == 1 else [make_tuple(values)]


def _erase(ops: Sequence[ir.Operation]) -> None:
    for op in reversed(ops):
        for use in list(op.results[0].uses):
            # What is left of an operation that was erased.
            erase_unused(use.owner.operation.results[0])
        erase(op)


def _name(ops: Sequence[ir.Operation]) -> str:
    """Return the name of a group's function: those of what it calls and computes."""
    names = []
    for op in ops:
        if op.name in (*KERNEL_CALLS, "relax.call"):
            callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            names.append(callee.removeprefix(_PREFIX) if op.name == "relax.call" else callee)
        elif op.name.startswith("relax.") and op.name != _GET_ITEM:
            name = op.name if op.name not in _NN else op.name.replace(".", ".nn.")
            names.append(name.replace(".", "_"))
    return _PREFIX + "_".join(names)
