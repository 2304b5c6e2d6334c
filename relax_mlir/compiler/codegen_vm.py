"""CodeGenVM: Relax functions after the four lowering passes become bytecode."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.compiler.codegen_control import emit_for, emit_if, emit_while
from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import at_source, source_line
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.ops.control import LOOPS
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields
from relax_mlir.errors import CompileError
from relax_mlir.lowering.walk import function_name, relax_functions
from relax_mlir.runtime.bytecode.instructions import Arg
from relax_mlir.runtime.exec_builder import ExecBuilder
from relax_mlir.runtime.registry import find_func

_PREFIX = "vm.builtin."
_AMONG_WORKERS = ("runtime.disco.", "vm.op.ccl_")
# These unpack the tuple where it is made, so that it never exists.
_TAKE_FIELDS = (
    "vm.call", "vm.call_tir_dyn", "relax.call", "relax.call_packed", "relax.call_pure_packed",
    "relax.make_closure", "relax.tuple_get_item", "relax.logic_prim", "relax.while", "relax.for",
)  # fmt: skip
_CHECKS = {
    "tensor": ("check_tensor", ("ndim", "dtype", "context")),
    "shape": ("check_shape_value", ("ndim", "context")),
    "tuple": ("check_tuple", ("ndim", "context")),
    "int": ("check_int", ("context",)),
}


@dataclass
class Emitted:
    """What is known about the instructions of each function beyond themselves.

    Attributes:
        sources: the lines of its source: index of an instruction, and the `file:line` that it and
            those after it come from.
        reasons: what is not native code: index of an instruction, and why.
    """

    sources: dict[str, list[list[Any]]] = field(default_factory=dict)
    reasons: dict[str, list[list[Any]]] = field(default_factory=dict)


def codegen_vm(module: ir.Module, builder: ExecBuilder) -> Emitted:
    """Emit every Relax function of a lowered module.

    Raises:
        CompileError: an operation is left that the virtual machine does not know.
    """
    result = Emitted()
    for func in relax_functions(module.operation):
        emitted = FunctionCodegen(func, builder)
        emitted.run()
        if emitted.sources:
            result.sources[function_name(func)] = emitted.sources
        if emitted.reasons:
            result.reasons[function_name(func)] = emitted.reasons
    return result


class FunctionCodegen:
    """Emits one function.

    Attributes:
        builder: where instructions go.
        values: what an instruction names each value by.
        sources: where runs of instructions come from.
        reasons: why instructions are not native code.
    """

    builder: ExecBuilder

    def __init__(self, func: ir.Operation, builder: ExecBuilder) -> None:
        self._func, self.builder = func, builder
        self.values: dict[ir.Value, Arg] = {}
        self._fields: dict[ir.Value, list[Arg]] = {}
        self.sources: list[list[Any]] = []
        self.reasons: list[list[Any]] = []
        self._next = 0

    def run(self) -> None:
        """Emit the function.

        Raises:
            CompileError: an operation has no instruction.
        """
        entry = self._func.regions[0].blocks[0]
        count = len(entry.arguments)
        names = [f"arg{i}" for i in range(count)]
        if "relax.params" in self._func.attributes:
            declared = [ir.StringAttr(a).value for a in self._func.attributes["relax.params"]]
            names = declared if len(declared) == count else names
        with self.builder.function(function_name(self._func), count, param_names=names):
            for argument in entry.arguments:
                self.values[argument] = self.register()
            self.block(entry)

    def register(self) -> Arg:
        """Return a register that nothing uses yet."""
        self._next += 1
        return self.builder.r(self._next - 1)

    def call(self, name: str, args: Sequence[Any], result: ir.Value | None) -> None:
        """Emit a call that gives a value of the program, or nothing."""
        if result is None:
            self.builder.emit_call(name, args=list(args))
            return
        dst = self.register()
        self.builder.emit_call(name, args=list(args), dst=dst)
        self.values[result] = dst

    def operand(self, value: ir.Value) -> Arg:
        """Return what an instruction names a value by.

        Raises:
            CompileError: nothing has made it.
        """
        if value in self.values:
            return self.values[value]
        fields = known_fields(value)
        if fields is None:
            raise CompileError("CodeGenVM", f"a value of {value.type} is used before it is made")
        self.call(f"{_PREFIX}make_tuple", [self.operand(item) for item in fields], value)
        return self.values[value]

    def block(self, block: ir.Block) -> None:
        """Emit the operations of a block.

        Raises:
            CompileError: there is no instruction for one of them.
        """
        for view in block.operations:
            op = view.operation
            emit = _EMIT.get(op.name)
            line = source_line(op.location)
            if line and (not self.sources or self.sources[-1][1] != line):
                self.sources.append([self.builder.here(), line])
            reason = bytecode_reason(op)
            if reason:
                self.reasons.append([self.builder.here(), reason])
            if emit is not None:
                emit(self, op)
            elif is_make_tuple(op):
                if _is_needed_whole(op.results[0]):
                    self.operand(op.results[0])
            else:
                raise CompileError(
                    "CodeGenVM",
                    f"'{op.name}'{at_source(op.location)} has no instruction; run the passes "
                    "LegalizeOps, ToNonDataflow, CallTIRRewrite, VMMemoryLower, VMShapeLower first",
                )

    def _constant(self, op: ir.Operation) -> None:
        try:
            array = constant_array(op.attributes["value"], filled=False)
        except ValueError as error:
            raise CompileError(
                "CodeGenVM", f"'{op.name}'{at_source(op.location)}: {error}"
            ) from None
        self.values[op.results[0]] = self.builder.emit_constant(array)

    def _shape_expr(self, op: ir.Operation) -> None:
        dims = T.known_dims(op.results[0].type)
        self.values[op.results[0]] = self.builder.emit_constant(
            tuple(self._static(op, dim) for dim in dims)
        )

    def _prim_value(self, op: ir.Operation) -> None:
        (expr,) = Dims(op.attributes["value"]).dims
        self.values[op.results[0]] = self.builder.imm(self._static(op, expr))

    def _static(self, op: ir.Operation, expr: Any) -> int:
        if expr.value is None:
            raise CompileError(
                "CodeGenVM",
                f"'{op.name}'{at_source(op.location)} is symbolic ({expr}); run VMShapeLower first",
            )
        return expr.value

    def _tuple_get_item(self, op: ir.Operation) -> None:
        index = op.attributes["index"].value
        fields = known_fields(op.operands[0])
        if fields is not None:
            self.values[op.results[0]] = self.operand(fields[index])
            return
        if op.operands[0] in self._fields:
            self.values[op.results[0]] = self._fields[op.operands[0]][index]
            return
        args = [self.operand(op.operands[0]), index]
        self.call(f"{_PREFIX}tuple_getitem", args, op.results[0])

    def fields(self, value: ir.Value) -> list[Arg]:
        """Return the fields of a tuple, which is made only where something needs it whole."""
        fields = known_fields(value)
        if fields is not None:
            return [self.operand(item) for item in fields]
        if value in self._fields:
            return list(self._fields[value])
        source, args = self.operand(value), []
        for index in range(value.type.num_types):
            args.append(self.register())
            self.builder.emit_call(f"{_PREFIX}tuple_getitem", [source, index], dst=args[-1])
        return args

    def give(self, result: ir.Value, fields: list[Arg]) -> None:
        """Let a tuple of the program be these registers."""
        self._fields[result] = fields
        if _is_needed_whole(result):
            self.call(f"{_PREFIX}make_tuple", fields, result)

    def _compare_prim(self, op: ir.Operation) -> None:
        args = [self.operand(value) for value in op.operands]
        self.call(f"{_PREFIX}int_{op.attributes['kind'].value}", args, op.results[0])

    def _logic_prim(self, op: ir.Operation) -> None:
        name = f"{_PREFIX}logic_{op.attributes['kind'].value}"
        self.call(name, self.fields(op.operands[0]), op.results[0])

    def _function_call(self, op: ir.Operation) -> None:
        name = op.attributes["callee" if op.name == "relax.call" else "func"].value
        if name.startswith(_AMONG_WORKERS) and find_func(name) is None:
            raise CompileError(
                "CodeGenVM",
                f"'{name}'{at_source(op.location)} works among several workers, and programs run "
                "in one process; register_func gives the name a meaning",
            )
        args = self.fields(op.operands[0])
        if "static_args" in op.attributes:
            args += [_static_value(item) for item in op.attributes["static_args"]]
        self.call(name, args, op.results[0] if len(op.results) else None)

    def _make_closure(self, op: ir.Operation) -> None:
        function = self.builder.f(op.attributes["callee"].value)
        self.call(f"{_PREFIX}make_closure", [function, *self.fields(op.operands[0])], op.results[0])

    def _call_tir_dyn(self, op: ir.Operation) -> None:
        function = self.builder.f(op.attributes["func"].value)
        args = [function, *self.fields(op.operands[0]), self.operand(op.operands[1])]
        self.builder.emit_call("vm.call_tir_dyn", args=args)

    def _alloc_tensor(self, op: ir.Operation) -> None:
        storage, shape = (self.operand(value) for value in op.operands)
        offset, dtype = op.attributes["offset"].value, op.attributes["dtype"].value
        args = [storage, offset, shape, T.normalize_dtype(dtype)]
        self.call(f"{_PREFIX}alloc_tensor", args, op.results[0])

    def _alloc_storage(self, op: ir.Operation) -> None:
        args = [self.operand(op.operands[0]), op.attributes["device"].value]
        self.call(f"{_PREFIX}alloc_storage", args, op.results[0])

    def _alloc_shape_heap(self, op: ir.Operation) -> None:
        self.call(f"{_PREFIX}alloc_shape_heap", [op.attributes["size"].value], op.results[0])

    def _shape(self, op: ir.Operation) -> None:
        args: list[Any] = [self.operand(value) for value in op.operands]
        if "context" in op.attributes:
            context = op.attributes["context"].value
            names = [ir.StringAttr(name).value for name in op.attributes.get("dims") or ()]
            args.append((context, *names) if names else context)
        args += list(op.attributes["slots"])
        name = _PREFIX + op.name.removeprefix("vm.")
        self.call(name, args, op.results[0] if len(op.results) else None)

    def _shape_of(self, op: ir.Operation) -> None:
        self.call(f"{_PREFIX}shape_of", [self.operand(op.operands[0])], op.results[0])

    def _check(self, op: ir.Operation) -> None:
        name, attributes = _CHECKS[op.attributes["kind"].value]
        args: list[Any] = [self.operand(op.operands[0])]
        args += [op.attributes[attribute].value for attribute in attributes]
        if "dims" in op.attributes:
            args.append(tuple(op.attributes["dims"]))
        self.builder.emit_call(_PREFIX + name, args=args)

    def _reinterpret(self, op: ir.Operation) -> None:
        self.values[op.results[0]] = self.operand(op.operands[0])

    def _kill(self, op: ir.Operation) -> None:
        register = self.operand(op.operands[0])
        self.builder.emit_call(f"{_PREFIX}kill_object", args=[register], dst=register)

    def _end(self, op: ir.Operation) -> None:
        """What surrounds a region takes what its end gives."""

    def _return(self, op: ir.Operation) -> None:
        if len(op.operands) > 1:
            raise CompileError(
                "CodeGenVM",
                f"function '{function_name(self._func)}'{at_source(op.location)} returns "
                f"{len(op.operands)} values; return one tuple of them",
            )
        value = self.operand(op.operands[0]) if len(op.operands) else None
        self.builder.emit_ret(self.builder.emit_constant(None) if value is None else value)


_EMIT = {
    "relax.constant": FunctionCodegen._constant,
    "relax.shape_expr": FunctionCodegen._shape_expr,
    "relax.prim_value": FunctionCodegen._prim_value,
    "relax.shape_of": FunctionCodegen._shape_of,
    "relax.tuple_get_item": FunctionCodegen._tuple_get_item,
    "relax.call": FunctionCodegen._function_call,
    "relax.call_packed": FunctionCodegen._function_call,
    "relax.call_pure_packed": FunctionCodegen._function_call,
    "relax.make_closure": FunctionCodegen._make_closure,
    "relax.compare_prim": FunctionCodegen._compare_prim,
    "relax.logic_prim": FunctionCodegen._logic_prim,
    "relax.if": emit_if,
    "relax.while": emit_while,
    "relax.for": emit_for,
    "relax.yield": FunctionCodegen._end,
    "relax.condition": FunctionCodegen._end,
    "vm.call": FunctionCodegen._function_call,
    "vm.call_tir_dyn": FunctionCodegen._call_tir_dyn,
    "vm.alloc_storage": FunctionCodegen._alloc_storage,
    "vm.alloc_tensor": FunctionCodegen._alloc_tensor,
    "vm.alloc_shape_heap": FunctionCodegen._alloc_shape_heap,
    "vm.store_shape": FunctionCodegen._shape,
    "vm.load_shape": FunctionCodegen._shape,
    "vm.assert_shape": FunctionCodegen._shape,
    "vm.check": FunctionCodegen._check,
    "vm.reinterpret": FunctionCodegen._reinterpret,
    "vm.kill": FunctionCodegen._kill,
    "func.return": FunctionCodegen._return,
}


def _is_needed_whole(value: ir.Value) -> bool:
    """Whether anything uses a tuple itself rather than its fields."""
    for use in value.uses:
        user = use.owner.operation
        turn = user.name == "relax.yield" and user.parent.operation.name in LOOPS
        if user.name not in _TAKE_FIELDS and not turn:
            return True
    return False


def _static_value(attribute: ir.Attribute) -> Any:
    attribute = attribute.maybe_downcast()
    if isinstance(attribute, ir.UnitAttr):
        return None
    if isinstance(attribute, (ir.DenseI64ArrayAttr, ir.DenseF64ArrayAttr)):
        return tuple(attribute)
    return attribute.value


_CALLS = ("relax.call_packed", "relax.call_pure_packed")
_LIBRARY = "vm.op."
_OWN = "vm."
_DATA_DEPENDENT = ("vm.builtin.unique", "vm.builtin.nonzero", "vm.op.unique", "vm.op.nonzero")
_FIXED = {
    "relax.if": "control flow: a branch",
    "relax.while": "control flow: a loop",
    "relax.for": "control flow: a loop",
    "relax.call": "call of a Relax function",
    "relax.make_closure": "closure",
    "relax.invoke_closure": "closure",
}


def bytecode_reason(op: ir.Operation) -> str:
    """Return why an operation of a lowered function has no native code, `""` where that is natural.

    Natural are checks of arguments, shapes, memory and calls of native code.
    """
    if op.name in _FIXED:
        return _FIXED[op.name]
    if op.name not in _CALLS:
        return ""
    name = op.attributes["func"].value
    if name in _DATA_DEPENDENT:
        return "data-dependent shape"
    if name.startswith(_LIBRARY):
        return f"library operator: {_unknown(op)}"
    return "" if name.startswith(_OWN) else "packed function"


def _unknown(op: ir.Operation) -> str:
    """Return what about a library operator's operands and results is not known."""
    values = [*(known_fields(op.operands[0]) or op.operands), *op.results]
    tensors = [value.type for value in values if T.is_tensor(value.type)]
    if any(T.tensor_ndim(type_) < 0 for type_ in tensors):
        return "unknown rank"
    if any(not T.tensor_dtype(type_) for type_ in tensors):
        return "unknown dtype"
    return "no kernel for what is known of its shapes"
