"""The pass `refine-shapes-backward`: infers the shapes of operands from their users."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.ops.elementwise import BinaryOp, CastOp, UnaryOp
from relax_mlir.dialects.relax.side_effects import operations_in
from relax_mlir.dialects.relax.well_formed import require_sound_types, type_dims
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.lowering.walk import collect, relax_functions
from relax_mlir.transform.relax.infer_type import infer_type, refine
from relax_mlir.transform.relax.rebuild import bound_by_arguments, retype

# Each round carries a type one operation further where forward and backward steps alternate.
_ROUNDS = 16
# Operations whose operands all have the dtype of the result.
_SAME_DTYPE = ("matmul",)


def refine_shapes_backward(module: ir.Operation, broadcast: bool = True) -> None:
    """Give values of unknown shape the types that what is made of them demands.

    `log(x) + y` of the shape `(m, n)` and dtype float32 says what `log(x)` and so `x` are. A
    parameter's new type is checked when its function is called, so a program that was given
    something else fails at its entry instead of inside.

    Args:
        module: the module.
        broadcast: whether an operand of unknown shape of a broadcasting operation is taken to have
            the result's shape. It might also have been one that broadcasts to it: a parameter that
            is refined so takes fewer shapes than before.

    Raises:
        PassError: a signature has a type that makes no sense.
    """
    require_sound_types(module, "RefineShapesBackward")
    infer_type(module)
    functions = relax_functions(module)
    called = _called(module)
    for _ in range(_ROUNDS):
        changed = [_Function(func, broadcast, called).run() for func in functions]
        if not any(changed):
            return
        infer_type(module)


def _called(module: ir.Operation) -> set[str]:
    """Return the functions that the module's own code calls or hands on."""
    callers = collect(module, lambda op: op.name.startswith("relax.") and "callee" in op.attributes)
    return {ir.FlatSymbolRefAttr(op.attributes["callee"]).value for op in callers}


class _Function:
    """Refines the values of one function, last first."""

    def __init__(self, func: ir.Operation, broadcast: bool, called: set[str]) -> None:
        self._func, self._broadcast = func, broadcast
        self._entry = func.regions[0].blocks[0]
        # Who calls the function inside the module was compiled against its present signature.
        self._open = func.attributes["sym_name"].value not in called
        self._changed = False
        # What values are said to be in symbols that have no value yet; a parameter may bind those.
        self._said: dict[ir.Value, ir.Type] = {}

    def run(self) -> bool:
        """Return whether anything was refined."""
        self._bound = bound_by_arguments(self._entry)
        self._block(self._entry)
        if self._changed:
            signature = ir.FunctionType(ir.TypeAttr(self._func.attributes["function_type"]).value)
            inputs = [argument.type for argument in self._entry.arguments]
            new = ir.FunctionType.get(inputs, signature.results)
            self._func.attributes["function_type"] = ir.TypeAttr.get(new)
        return self._changed

    def _block(self, block: ir.Block) -> None:
        for view in reversed(list(block.operations)):
            op = view.operation
            if op.name == "relax.dataflow":
                self._outputs(op)
                self._block(op.regions[0].blocks[0])
                continue
            # What a branch or loop does with a value says nothing of it when it does not run.
            for operand, wanted in self._wanted(op):
                self._refine(operand, wanted)

    def _outputs(self, op: ir.Operation) -> None:
        end = list(operations_in(op))[-1]
        for operand, result in zip(end.operands, op.results, strict=False):
            if T.is_tensor(result.type):
                self._refine(operand, result.type)

    def _wanted(self, op: ir.Operation) -> list[tuple[ir.Value, ir.Type]]:
        """Return what an operation says its operands are."""
        name = op.name.removeprefix("relax.")
        if op.name == "relax.match_cast":
            return [(op.operands[0], self._said.get(op.results[0], op.results[0].type))]
        cls = COMPUTE_OPS.get(name) if op.name.startswith("relax.") else None
        if cls is None or not T.is_tensor(op.results[0].type):
            return []
        result = self._said.get(op.results[0], op.results[0].type)
        if issubclass(cls, UnaryOp):
            dtype = None if cls.RESULT_DTYPE else T.tensor_dtype(result)
            return [(op.operands[0], _shaped(result, dtype))]
        if issubclass(cls, CastOp):
            return [(op.operands[0], _shaped(result, None))]
        if issubclass(cls, BinaryOp) or name in _SAME_DTYPE:
            return self._pair(op, cls, result)
        return []

    def _pair(self, op: ir.Operation, cls: type, result: ir.Type) -> list[tuple[ir.Value, ir.Type]]:
        dtypes = [T.tensor_dtype(operand.type) for operand in op.operands]
        if not getattr(cls, "RESULT_DTYPE", None):
            dtypes.append(T.tensor_dtype(result))
        dtype = next(filter(None, dtypes), "")
        shaped = self._broadcast and issubclass(cls, BinaryOp)
        whole = _shaped(result, dtype) if shaped else T.tensor_type(None, dtype)
        return [(operand, whole) for operand in op.operands]

    def _refine(self, value: ir.Value, wanted: ir.Type) -> None:
        declared = value.type
        if T.is_tensor(declared) != T.is_tensor(wanted) or not (
            T.is_tensor(declared) or isinstance(declared, Shape)
        ):
            return
        if T.is_tensor(declared):
            ranks = T.tensor_ndim(declared), T.tensor_ndim(wanted)
            if -1 not in ranks and ranks[0] != ranks[1]:
                return
        type_ = refine(declared, wanted)
        if type_ == declared:
            return
        dims = list(type_dims(type_))
        used = {name for dim in dims for name in dim.symbols}
        if isinstance(value.owner, ir.Block):
            # A parameter may bind what its own shape says first.
            if value.owner != self._entry or not self._open:
                return
            if not used <= self._bound | bound_symbols(dims, self._bound):
                return
            self._bound |= bound_symbols(dims, self._bound)
        elif not used <= self._bound:
            self._said[value] = type_
            return
        retype(value, type_)
        self._changed = True


def _shaped(type_: ir.Type, dtype: str | None) -> ir.Type:
    return T.tensor_type(T.tensor_dims(type_), dtype, T.tensor_ndim(type_))
