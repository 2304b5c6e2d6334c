"""CodeGenVM: Relax functions after the four lowering passes become bytecode (V02, V07)."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.constants import constant_array
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.relax.tuples import is_make_tuple, known_fields
from relax_mlir.errors import CompileError
from relax_mlir.lowering.relax_to_vm.locations import at_source
from relax_mlir.lowering.walk import function_name, relax_functions
from relax_mlir.runtime.bytecode import Arg
from relax_mlir.runtime.exec_builder import ExecBuilder

_PREFIX = "vm.builtin."
# These take the tuple apart where they see it made, so that it never is.
_TAKE_FIELDS = (
    "vm.call", "vm.call_tir_dyn", "relax.call", "relax.call_packed", "relax.call_pure_packed",
    "relax.make_closure", "relax.tuple_get_item",
)  # fmt: skip
_CHECKS = {
    "tensor": ("check_tensor", ("ndim", "dtype", "context")),
    "shape": ("check_shape_value", ("ndim", "context")),
    "tuple": ("check_tuple", ("ndim", "context")),
    "int": ("check_int", ("context",)),
}


def codegen_vm(module: ir.Module, builder: ExecBuilder) -> None:
    """Emit every Relax function of a lowered module.

    Raises:
        CompileError: an operation is left that the virtual machine does not know.
    """
    for func in relax_functions(module.operation):
        _FunctionCodegen(func, builder).run()


class _FunctionCodegen:
    def __init__(self, func: ir.Operation, builder: ExecBuilder) -> None:
        self._func, self._builder = func, builder
        self._values: dict[ir.Value, Arg] = {}
        self._next = 0

    def run(self) -> None:
        entry = self._func.regions[0].blocks[0]
        count = len(entry.arguments)
        names = [f"arg{i}" for i in range(count)]
        if "relax.params" in self._func.attributes:
            declared = [ir.StringAttr(a).value for a in self._func.attributes["relax.params"]]
            names = declared if len(declared) == count else names
        with self._builder.function(function_name(self._func), count, param_names=names):
            for argument in entry.arguments:
                self._values[argument] = self._register()
            self._block(entry)

    def _register(self) -> Arg:
        self._next += 1
        return self._builder.r(self._next - 1)

    def _call(self, name: str, args: Sequence[Any], result: ir.Value | None) -> None:
        if result is None:
            self._builder.emit_call(name, args=list(args))
            return
        dst = self._register()
        self._builder.emit_call(name, args=list(args), dst=dst)
        self._values[result] = dst

    def _operand(self, value: ir.Value) -> Arg:
        if value in self._values:
            return self._values[value]
        fields = known_fields(value)
        if fields is None:
            raise CompileError("CodeGenVM", f"a value of {value.type} is used before it is made")
        self._call(f"{_PREFIX}make_tuple", [self._operand(item) for item in fields], value)
        return self._values[value]

    def _block(self, block: ir.Block) -> None:
        for view in block.operations:
            op = view.operation
            emit = _EMIT.get(op.name)
            if emit is not None:
                emit(self, op)
            elif is_make_tuple(op):
                if any(use.owner.operation.name not in _TAKE_FIELDS for use in op.results[0].uses):
                    self._operand(op.results[0])
            else:
                raise CompileError(
                    "CodeGenVM",
                    f"'{op.name}'{at_source(op.location)} has no instruction; run the passes "
                    "LegalizeOps, ToNonDataflow, CallTIRRewrite, VMMemoryLower, VMShapeLower first",
                )

    def _constant(self, op: ir.Operation) -> None:
        try:
            array = constant_array(op.attributes["value"])
        except ValueError as error:
            raise CompileError(
                "CodeGenVM", f"'{op.name}'{at_source(op.location)}: {error}"
            ) from None
        self._values[op.results[0]] = self._builder.emit_constant(array)

    def _shape_expr(self, op: ir.Operation) -> None:
        dims = T.known_dims(op.results[0].type)
        self._values[op.results[0]] = self._builder.emit_constant(
            tuple(self._static(op, dim) for dim in dims)
        )

    def _prim_value(self, op: ir.Operation) -> None:
        (expr,) = Dims(op.attributes["value"]).dims
        self._values[op.results[0]] = self._builder.imm(self._static(op, expr))

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
            self._values[op.results[0]] = self._operand(fields[index])
            return
        args = [self._operand(op.operands[0]), index]
        self._call(f"{_PREFIX}tuple_getitem", args, op.results[0])

    def _arguments(self, op: ir.Operation) -> list[Any]:
        value = op.operands[0]
        fields = known_fields(value)
        if fields is not None:
            return [self._operand(item) for item in fields]
        source, args = self._operand(value), []
        for index in range(value.type.num_types):
            args.append(self._register())
            self._builder.emit_call(f"{_PREFIX}tuple_getitem", [source, index], dst=args[-1])
        return args

    def _function_call(self, op: ir.Operation) -> None:
        name = op.attributes["callee" if op.name == "relax.call" else "func"].value
        args = self._arguments(op)
        if "static_args" in op.attributes:
            args += [_static_value(item) for item in op.attributes["static_args"]]
        self._call(name, args, op.results[0] if len(op.results) else None)

    def _make_closure(self, op: ir.Operation) -> None:
        function = self._builder.f(op.attributes["callee"].value)
        self._call(f"{_PREFIX}make_closure", [function, *self._arguments(op)], op.results[0])

    def _call_tir_dyn(self, op: ir.Operation) -> None:
        function = self._builder.f(op.attributes["func"].value)
        args = [function, *self._arguments(op), self._operand(op.operands[1])]
        self._builder.emit_call("vm.call_tir_dyn", args=args)

    def _alloc_tensor(self, op: ir.Operation) -> None:
        storage, shape = (self._operand(value) for value in op.operands)
        offset, dtype = op.attributes["offset"].value, op.attributes["dtype"].value
        args = [storage, offset, shape, T.normalize_dtype(dtype)]
        self._call(f"{_PREFIX}alloc_tensor", args, op.results[0])

    def _alloc_storage(self, op: ir.Operation) -> None:
        args = [self._operand(op.operands[0]), op.attributes["device"].value]
        self._call(f"{_PREFIX}alloc_storage", args, op.results[0])

    def _alloc_shape_heap(self, op: ir.Operation) -> None:
        self._call(f"{_PREFIX}alloc_shape_heap", [op.attributes["size"].value], op.results[0])

    def _shape(self, op: ir.Operation) -> None:
        args: list[Any] = [self._operand(value) for value in op.operands]
        if "context" in op.attributes:
            context = op.attributes["context"].value
            names = [ir.StringAttr(name).value for name in op.attributes.get("dims") or ()]
            args.append((context, *names) if names else context)
        args += list(op.attributes["slots"])
        name = _PREFIX + op.name.removeprefix("vm.")
        self._call(name, args, op.results[0] if len(op.results) else None)

    def _shape_of(self, op: ir.Operation) -> None:
        self._call(f"{_PREFIX}shape_of", [self._operand(op.operands[0])], op.results[0])

    def _check(self, op: ir.Operation) -> None:
        name, attributes = _CHECKS[op.attributes["kind"].value]
        args: list[Any] = [self._operand(op.operands[0])]
        args += [op.attributes[attribute].value for attribute in attributes]
        if "dims" in op.attributes:
            args.append(tuple(op.attributes["dims"]))
        self._builder.emit_call(_PREFIX + name, args=args)

    def _reinterpret(self, op: ir.Operation) -> None:
        self._values[op.results[0]] = self._operand(op.operands[0])

    def _kill(self, op: ir.Operation) -> None:
        register = self._operand(op.operands[0])
        self._builder.emit_call(f"{_PREFIX}kill_object", args=[register], dst=register)

    def _if(self, op: ir.Operation) -> None:
        condition = self._operand(op.operands[0])
        if not condition.is_plain_register:
            source, condition = condition, self._register()
            self._builder.emit_call(f"{_PREFIX}move", args=[source], dst=condition)
        target = self._register() if len(op.results) else None
        test = self._builder.emit_if(condition)
        self._branch(op.regions[0], target)
        skip = self._builder.emit_goto()
        self._builder.patch(test)
        self._branch(op.regions[1], target)
        self._builder.patch(skip)
        if target is not None:
            self._values[op.results[0]] = target

    def _branch(self, region: ir.Region, target: Arg | None) -> None:
        self._block(region.blocks[0])
        if target is not None:
            terminator = list(region.blocks[0].operations)[-1].operation
            value = self._operand(terminator.operands[0])
            self._builder.emit_call(f"{_PREFIX}move", args=[value], dst=target)

    def _yield(self, op: ir.Operation) -> None:
        """The branch moves what is yielded."""

    def _return(self, op: ir.Operation) -> None:
        if len(op.operands) > 1:
            raise CompileError(
                "CodeGenVM",
                f"function '{function_name(self._func)}'{at_source(op.location)} returns "
                f"{len(op.operands)} values; return one tuple of them",
            )
        value = self._operand(op.operands[0]) if len(op.operands) else None
        self._builder.emit_ret(self._builder.emit_constant(None) if value is None else value)


_EMIT = {
    "relax.constant": _FunctionCodegen._constant,
    "relax.shape_expr": _FunctionCodegen._shape_expr,
    "relax.prim_value": _FunctionCodegen._prim_value,
    "relax.shape_of": _FunctionCodegen._shape_of,
    "relax.tuple_get_item": _FunctionCodegen._tuple_get_item,
    "relax.call": _FunctionCodegen._function_call,
    "relax.call_packed": _FunctionCodegen._function_call,
    "relax.call_pure_packed": _FunctionCodegen._function_call,
    "relax.make_closure": _FunctionCodegen._make_closure,
    "relax.if": _FunctionCodegen._if,
    "relax.yield": _FunctionCodegen._yield,
    "vm.call": _FunctionCodegen._function_call,
    "vm.call_tir_dyn": _FunctionCodegen._call_tir_dyn,
    "vm.alloc_storage": _FunctionCodegen._alloc_storage,
    "vm.alloc_tensor": _FunctionCodegen._alloc_tensor,
    "vm.alloc_shape_heap": _FunctionCodegen._alloc_shape_heap,
    "vm.store_shape": _FunctionCodegen._shape,
    "vm.load_shape": _FunctionCodegen._shape,
    "vm.assert_shape": _FunctionCodegen._shape,
    "vm.check": _FunctionCodegen._check,
    "vm.reinterpret": _FunctionCodegen._reinterpret,
    "vm.kill": _FunctionCodegen._kill,
    "func.return": _FunctionCodegen._return,
}


def _static_value(attribute: ir.Attribute) -> Any:
    attribute = attribute.maybe_downcast()
    if isinstance(attribute, ir.UnitAttr):
        return None
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return tuple(attribute)
    return attribute.value
