"""VM operations: memory, the shape heap and calls."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Object, Shape
from relax_mlir.dialects.relax.tuples import is_tuple
from relax_mlir.dialects.relax.validity import type_problem
from relax_mlir.dialects.verify import attribute, once_each, op_error


class Vm(ext.Dialect, name="vm"):
    """Explicit memory and run-time shapes: one operation is one call of the machine."""


class Storage(Vm.Type, name="storage"):
    """A block of memory that tensors are placed in."""


class ShapeHeap(Vm.Type, name="heap"):
    """The int64 array that holds the values of a function's symbolic integers."""


CHECK_KINDS = ("tensor", "shape", "tuple", "int")


def _is_shape(type_: ir.Type) -> bool:
    return isinstance(type_, Shape)


def _is_integer(type_: ir.Type) -> bool:
    return str(type_) == "i64"


def _has_dims(type_: ir.Type) -> bool:
    return T.is_tensor(type_) or _is_shape(type_) or _is_integer(type_) or isinstance(type_, Object)


# Kind of an operand or result -> what it is in words, and the test of its type.
_VALUES: dict[str, tuple[str, Callable[[ir.Type], bool]]] = {
    "any": ("a value", lambda type_: True),
    "tensor": ("a tensor", T.is_tensor),
    "shape": ("!relax.shape", _is_shape),
    "shape or int": ("!relax.shape or i64", lambda t: _is_shape(t) or _is_integer(t)),
    "dims": ("a tensor, a shape, i64 or an object", _has_dims),
    "tuple": ("a tuple", is_tuple),
    "storage": ("!vm.storage", lambda type_: isinstance(type_, Storage)),
    "heap": ("!vm.heap", lambda type_: isinstance(type_, ShapeHeap)),
}


class VmOp(Vm.Operation):
    """One call of the virtual machine, whose verifier is the table of what it takes.

    Attributes:
        OPERANDS: kinds of the operands, keys of `_VALUES`.
        RESULTS: kinds of the results; `OPTIONAL_RESULT` allows one result of any type instead.
        ATTRIBUTES: each attribute's name and kind: `str`, `dtype`, `slots`, `count` (an integer
            from 0), `ndim` (an integer from -1) or `kind`.
        OPTIONAL_ATTRIBUTES: those that may be left out, also of kind `words` (a list of strings) or
            `static` (arguments that are no values of the program).
    """

    # Without annotations, which would declare fields of the operation.
    OPERANDS = ()
    RESULTS = ()
    OPTIONAL_RESULT = False
    ATTRIBUTES = ()
    OPTIONAL_ATTRIBUTES = ()

    @once_each
    def verify_invariants(self) -> bool:
        op, cls = self.operation, type(self)
        results = cls.RESULTS
        if cls.OPTIONAL_RESULT and len(op.results) == 1:
            results = ("any",)
        for values, kinds, what in (
            (op.operands, cls.OPERANDS, "operand"),
            (op.results, results, "result"),
        ):
            if len(values) != len(kinds):
                return op_error(self, f"has {len(kinds)} {what}s, got {len(values)}")
            for index, (value, kind) in enumerate(zip(values, kinds, strict=True)):
                words, accepts = _VALUES[kind]
                if not accepts(value.type):
                    return op_error(self, f"{what} {index} must be {words}, got {value.type}")
                problem = type_problem(value.type)
                if problem:
                    return op_error(self, f"{what} {index}: {problem}")
        for name, kind in cls.ATTRIBUTES:
            problem = _attribute_problem(kind, attribute(op, name))
            if problem:
                return op_error(self, f"attribute '{name}' {problem}")
        return self.check()

    def check(self) -> bool:
        """Check what the table cannot say."""
        return True


def _attribute_problem(kind: str, value: Any) -> str:
    """Return what is wrong with an attribute of that kind, `""` when nothing is."""
    if kind == "slots":
        if not isinstance(value, ir.DenseI64ArrayAttr):
            return f"must be array<i64>, got {value}"
        low = [slot for slot in value if slot < -1]
        return f"holds slots of the heap, or -1 for none, got {low[0]}" if low else ""
    if kind in ("count", "ndim"):
        least = 0 if kind == "count" else -1
        if not isinstance(value, ir.IntegerAttr) or str(value.type) != "i64":
            return f"must be an i64, got {value}"
        return "" if value.value >= least else f"must be at least {least}, got {value.value}"
    if not isinstance(value, ir.StringAttr):
        return f"must be a string, got {value}"
    if kind == "kind" and value.value not in CHECK_KINDS:
        return f"must be one of {', '.join(CHECK_KINDS)}, got '{value.value}'"
    if kind == "dtype":
        try:
            T.normalize_dtype(value.value)
        except ValueError as error:
            return f"is no dtype: {error}"
    return ""


class AllocStorageOp(VmOp, name="alloc_storage"):
    """Memory of `size` bytes (a shape of one integer) on a device."""

    OPERANDS = ("shape or int",)
    RESULTS = ("storage",)
    ATTRIBUTES = (("device", "str"),)
    size: ext.Operand[Any]
    device: ir.StringAttr
    result: ext.Result[Storage]


class AllocTensorOp(VmOp, name="alloc_tensor"):
    """A tensor of that shape in a storage, from a byte offset on."""

    OPERANDS = ("storage", "shape")
    RESULTS = ("tensor",)
    ATTRIBUTES = (("offset", "count"), ("dtype", "dtype"))
    storage: ext.Operand[Storage]
    shape: ext.Operand[Any]
    offset: ir.IntegerAttr
    dtype: ir.StringAttr
    result: ext.Result[Any]

    def check(self) -> bool:
        op = self.operation
        shape, tensor = op.operands[1].type, op.results[0].type
        ranks = {T.shape_ndim(shape), T.tensor_ndim(tensor)} - {-1}
        if len(ranks) > 1:
            return op_error(
                self,
                f"result must have {T.shape_ndim(shape)} dimensions like its shape, got "
                f"{T.tensor_ndim(tensor)}",
            )
        declared, of_type = op.attributes["dtype"].value, T.tensor_dtype(tensor)
        if declared and of_type and T.normalize_dtype(declared) != of_type:
            return op_error(self, f"result must be {declared}, got {of_type}")
        return True


class KillOp(VmOp, name="kill"):
    """The last use of a tensor or a storage is past; its register is released."""

    OPERANDS = ("any",)
    value: ext.Operand[Any]


class CallOp(VmOp, name="call"):
    """Call a function by name: native, packed, built in, or of this executable.

    The operand is the tuple of arguments.
    """

    OPERANDS = ("tuple",)
    OPTIONAL_RESULT = True
    ATTRIBUTES = (("func", "str"),)
    OPTIONAL_ATTRIBUTES = (("static_args", "static"),)
    args: ext.Operand[Any]
    func: ir.StringAttr
    results_: Sequence[ext.Result[Any]]


class CallTirDynOp(VmOp, name="call_tir_dyn"):
    """As `vm.call`, then the integers of a shape become further arguments."""

    OPERANDS = ("tuple", "shape")
    ATTRIBUTES = (("func", "str"),)
    args: ext.Operand[Any]
    integers: ext.Operand[Any]
    func: ir.StringAttr


class AllocShapeHeapOp(VmOp, name="alloc_shape_heap"):
    """The function's shape heap, of `size` slots."""

    RESULTS = ("heap",)
    ATTRIBUTES = (("size", "count"),)
    size: ir.IntegerAttr
    result: ext.Result[ShapeHeap]


class _SlotsOp(VmOp):
    """One slot for each dimension of operand 0."""

    def check(self) -> bool:
        op = self.operation
        type_, slots = op.operands[0].type, len(op.attributes["slots"])
        ndim = T.tensor_ndim(type_) if T.is_tensor(type_) else -1
        if _is_shape(type_):
            ndim = T.shape_ndim(type_)
        elif _is_integer(type_):
            ndim = 1
        if ndim not in (-1, slots):
            return op_error(self, f"needs {ndim} slots for {type_}, got {slots}")
        return True


class StoreShapeOp(_SlotsOp, name="store_shape"):
    """Store the dimensions of a tensor or shape in slots; slot -1 skips one."""

    OPERANDS = ("dims", "heap")
    ATTRIBUTES = (("slots", "slots"),)
    value: ext.Operand[Any]
    heap: ext.Operand[ShapeHeap]
    slots: Any


class AssertShapeOp(_SlotsOp, name="assert_shape"):
    """Check dimensions against slots; a failure raises with `context` in front.

    The optional `dims`, an array of strings, says what each dimension is.
    """

    OPERANDS = ("dims", "heap")
    ATTRIBUTES = (("slots", "slots"), ("context", "str"))
    OPTIONAL_ATTRIBUTES = (("dims", "words"),)
    value: ext.Operand[Any]
    heap: ext.Operand[ShapeHeap]
    slots: Any
    context: ir.StringAttr


class LoadShapeOp(VmOp, name="load_shape"):
    """Make a shape value from slots, or one integer from one slot."""

    OPERANDS = ("heap",)
    RESULTS = ("shape or int",)
    ATTRIBUTES = (("slots", "slots"),)
    heap: ext.Operand[ShapeHeap]
    slots: Any
    result: ext.Result[Any]

    def check(self) -> bool:
        type_, slots = self.operation.results[0].type, list(self.operation.attributes["slots"])
        if -1 in slots:
            return op_error(self, f"needs a slot of the heap for each dimension, got {slots}")
        ndim = T.shape_ndim(type_) if _is_shape(type_) else 1
        if ndim not in (-1, len(slots)):
            return op_error(self, f"needs {ndim} slots for {type_}, got {len(slots)}")
        return True


class CheckOp(VmOp, name="check"):
    """Check the kind of a value before its first use.

    `kind` is one of CHECK_KINDS; `ndim` a tensor's dimensions, a shape's length, a tuple's fields,
    -1 when any; `dtype` a tensor's dtype, empty when any. The optional `dims` gives the constant
    dimensions of a tensor or shape, -1 where any will do.
    """

    OPERANDS = ("any",)
    ATTRIBUTES = (("kind", "kind"), ("ndim", "ndim"), ("dtype", "dtype"), ("context", "str"))
    OPTIONAL_ATTRIBUTES = (("dims", "slots"),)
    value: ext.Operand[Any]
    kind: ir.StringAttr
    ndim: ir.IntegerAttr
    dtype: ir.StringAttr
    context: ir.StringAttr

    def check(self) -> bool:
        dims = attribute(self.operation, "dims")
        if dims is None:
            return True
        problem = _attribute_problem("slots", dims)
        if not problem and len(dims) != self.operation.attributes["ndim"].value:
            problem = f"needs one entry for each dimension, got {len(dims)}"
        return op_error(self, f"attribute 'dims' {problem}") if problem else True


class ReinterpretOp(VmOp, name="reinterpret"):
    """The same value under another type, checked before; no instruction."""

    OPERANDS = ("any",)
    RESULTS = ("any",)
    value: ext.Operand[Any]
    result: ext.Result[Any]


# Operations by their name in the dialect.
OPERATIONS: dict[str, type[VmOp]] = {
    cls.OPERATION_NAME.removeprefix("vm."): cls
    for cls in (
        AllocStorageOp, AllocTensorOp, KillOp, CallOp, CallTirDynOp, AllocShapeHeapOp, StoreShapeOp,
        AssertShapeOp, LoadShapeOp, CheckOp, ReinterpretOp,
    )
}  # fmt: skip
