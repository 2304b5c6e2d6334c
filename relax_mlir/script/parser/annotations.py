"""Type annotations: `R.Tensor[(n, k), "f32"]`, `R.Tensor(("n", "k"), "float32")`."""

import ast
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import did_you_mean
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.dims import DimParser, captured_dims, captured_value, check_bytes
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node

_SIMPLE = {
    "R.Tensor": lambda: T.tensor_type(),
    "R.Shape": lambda: T.shape_type(),
    "R.Object": lambda: T.object_type(),
    "R.Any": lambda: T.object_type(),
    "R.Tuple": lambda: T.object_type(),
    "R.Prim": lambda: ir.IntegerType.get_signless(64),
    "R.Callable": lambda: T.object_type(),
}
_CALLED = ("R.Tensor", "R.Shape", "R.Prim", "R.Tuple", "R.Object", "R.Any", "R.Callable")


# Targets of virtual devices that are the CPU.
_CPUS = ("llvm", "cpu", "c")
_TYPE_ATTRIBUTES = ("ty", "struct_info")


def _is_dtype_name(name: str) -> bool:
    try:
        return T.normalize_dtype(name) == name
    except ValueError:
        return False


def check_device(scope: Scope, node: Node) -> None:
    """Raise a ScriptError for a virtual device (`"llvm:0"`, `I.vdevice("llvm")`) that is no CPU."""
    name = node.args[0] if isinstance(node, ast.Call) and node.args else node
    value = name.value if isinstance(name, ast.Constant) else None
    if isinstance(value, str) and value.split(":")[0].split(" ")[0] not in _CPUS:
        scope.fail(node, f"programs run on CPUs; there is no device '{value}'")


@dataclass
class Signature:
    """What calls need to know of a function.

    Attributes:
        types: of its parameters, None when anything goes.
        result: the declared result over the parameters' symbols, None when not declared.
        pure: whether it has no side effects.
        returned: what is known of a function that it returns.
        derive: names the rule by which the result's type follows from the arguments.
    """

    types: list[ir.Type] | None
    result: ir.Type | None
    pure: bool = False
    returned: "Signature | None" = None
    derive: str = ""


@dataclass(frozen=True)
class Annotation:
    """A type as written.

    Attributes:
        type: the MLIR type.
        integer: the symbolic integer of `R.Prim(value="n")`.
        signature: what `R.Callable` says of a function.
    """

    type: ir.Type
    integer: SymExpr | None = None
    signature: Signature | None = None


class AnnotationParser:
    """Reads annotations; all of one signature or pattern share the symbols they define."""

    def __init__(self, scope: Scope, define: bool = False) -> None:
        self.scope = scope
        self.dims: DimParser = DimParser(scope, define)

    def parse(self, node: Node) -> Annotation:
        """Return the type that an annotation spells.

        Raises:
            ScriptError: it spells none, or a tensor beyond all memory.
        """
        result = self._parse(node)
        if T.is_tensor(result.type):
            dims = T.tensor_dims(result.type)
            check_bytes(self.scope, node, dims or (), T.tensor_dtype(result.type))
        return result

    def _parse(self, node: Node) -> Annotation:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                inner = ast.parse(node.value.strip(), mode="eval").body
            except SyntaxError:
                self.scope.fail(node, f"'{node.value}' is not a type of the Relax language")
            for child in ast.walk(inner):
                ast.copy_location(child, node)
            return self.parse(inner)
        if isinstance(node, ast.Call):
            path = self.scope.path(node.func)
            if path in _CALLED:
                return getattr(self, f"_{path[2:].lower()}")(node)
        elif isinstance(node, ast.Subscript):
            path = self.scope.path(node.value)
            if path == "R.Tensor":
                return Annotation(self._tensor_items(node))
            if path == "R.Shape":
                items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                return Annotation(T.shape_type(self.dims.dims(items)))
            if path == "R.Tuple":
                items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                return Annotation(self._fields(items))
        else:
            path = self.scope.path(node)
            if path in _SIMPLE:
                return Annotation(_SIMPLE[path]())
            if path and path.startswith("T.") and _is_dtype_name(path[2:]):
                return Annotation(T.element_type(path[2:]))
            if path is None and isinstance(node, ast.Attribute) and node.attr in _TYPE_ATTRIBUTES:
                return self._type_of(node)
        if path and path.startswith("R.Callable"):
            self.scope.fail(node, "function types are not supported")
        near = did_you_mean(path, list(_SIMPLE)) if path else ""
        self.scope.fail(node, f'expected a type such as R.Tensor((n, 4), "float32"){near}')

    def _type_of(self, node: ast.Attribute) -> Annotation:
        """Read `x.ty`, the type of a variable."""
        value: Any = self.scope.values.get(node.value.id) if isinstance(node.value, ast.Name) else 0
        if not isinstance(value, ir.Value):
            self.scope.fail(node, f"'{ast.unparse(node.value)}' is no variable, which has a type")
        return Annotation(value.type)

    def shape(self, node: Node) -> Any:
        """Return the shape that a node spells: dimensions, a shape value, or None for `_`."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return self.dims.dims(node.elts)
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if isinstance(node, ast.Call) and self.scope.path(node.func) in ("R.shape", "R.ShapeExpr"):
            if len(node.args) != 1:
                self.scope.fail(node, f"{ast.unparse(node.func)} needs the dimensions of the shape")
            return self.shape(node.args[0])
        if isinstance(node, ast.Name):
            value = self.scope.values.get(node.id, MISSING)
            if value is MISSING:
                value = self.scope.env.lookup(node.id)
            if value is None or (value is MISSING and node.id == "_"):
                return None
            if isinstance(value, (tuple, list)):
                return captured_dims(self.scope, node, value)
            if isinstance(value, ir.Value) and isinstance(value.type, Shape):
                return value
            if isinstance(value, ir.Value):
                from relax_mlir.dialects.relax.infer import describe

                self.scope.fail(node, f"expected a shape, '{node.id}' is {describe(value.type)}")
            if value is MISSING and node.id not in self.scope.symbols:
                self.scope.undefined(node, node.id)
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            value = captured_value(self.scope, node)
            if isinstance(value, (tuple, list)):
                return captured_dims(self.scope, node, value)
        self.scope.fail(node, "expected a shape: a tuple of dimensions, a shape value or '_'")

    def dtype(self, node: Node) -> str:
        """Return the dtype a node spells, `""` for `_` or none."""
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return ""
        if isinstance(node, ast.Name) and node.id == "_":
            return ""
        if isinstance(node, ast.Call) and self.scope.path(node.func) == "R.dtype" and node.args:
            return self.dtype(node.args[0])
        value = node.value if isinstance(node, ast.Constant) else captured_value(self.scope, node)
        if value is None:
            return ""
        if value is not MISSING and not isinstance(value, str):
            value = getattr(value, "name", None) or getattr(value, "__name__", None)
        if not isinstance(value, str):
            self.scope.fail(node, 'expected a dtype such as "float32"')
        try:
            return T.normalize_dtype(value)
        except ValueError as error:
            self.scope.fail(node, str(error))

    def tensor(self, shape: Any, dtype: str, ndim: int) -> ir.Type:
        """Return the tensor type of a shape as `shape()` gives it."""
        if isinstance(shape, ir.Value):
            return T.tensor_type(T.shape_dims(shape.type), dtype, T.shape_ndim(shape.type))
        return T.tensor_type(shape, dtype, ndim)

    def _is_dtype(self, node: Node) -> bool:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return bool(T.normalize_dtype(node.value))
            except ValueError:
                return False
        return False

    def _tensor_items(self, node: Node) -> ir.Type:
        item = node.slice
        if isinstance(item, ast.Tuple) and len(item.elts) == 2 and self._is_pair(*item.elts):
            return self.tensor(self.shape(item.elts[0]), self.dtype(item.elts[1]), -1)
        if isinstance(item, (ast.Tuple, ast.List)):
            return T.tensor_type(self.dims.dims(item.elts), "")
        if self._is_dtype(item):
            return T.tensor_type(None, self.dtype(item))
        return self.tensor(self.shape(item), "", -1)

    def _is_pair(self, first: Node, second: Node) -> bool:
        """Whether two subscripts are a shape and a dtype rather than two dimensions."""
        if isinstance(first, (ast.Tuple, ast.List)):
            return True
        if isinstance(first, ast.Name):
            if first.id == "_" and "_" not in self.scope.values:
                return True
            value = self.scope.values.get(first.id)
            if isinstance(value, ir.Value) and self.scope.integer_of(value) is None:
                return True
        return self._is_dtype(second)

    def _count(self, node: Node) -> int:
        if node is None:
            return -1
        try:
            value = ast.literal_eval(node)
        except ValueError:
            value = captured_value(self.scope, node)
        if type(value) is not int or value < -1:
            self.scope.fail(node, "ndim must be an integer, -1 when unknown")
        return value

    def _tensor(self, node: Node) -> Annotation:
        values = arguments(self.scope, node, ("shape", "dtype", "vdevice", "ndim"), 0)
        shape_node, dtype_node = values.get("shape"), values.get("dtype")
        vdevice = values.pop("vdevice", None)
        if isinstance(vdevice, ast.Constant) and type(vdevice.value) is int:
            # As TVM 0.10 has it: R.Tensor(None, "float32", 2).
            values["ndim"] = vdevice
        elif vdevice is not None:
            check_device(self.scope, vdevice)
        if shape_node is not None and dtype_node is None and self._is_dtype(shape_node):
            shape_node, dtype_node = None, shape_node
        ndim = self._count(values.get("ndim"))
        shape = self.shape(shape_node) if shape_node is not None else None
        if isinstance(shape, list) and ndim not in (-1, len(shape)):
            self.scope.fail(values["ndim"], f"ndim is {ndim}, the shape has {len(shape)}")
        return Annotation(self.tensor(shape, self.dtype(dtype_node), ndim))

    def _shape(self, node: Node) -> Annotation:
        values = arguments(self.scope, node, ("values", "ndim"), 0)
        ndim = self._count(values.get("ndim"))
        if "values" not in values:
            return Annotation(T.shape_type(None, ndim))
        shape = self.shape(values["values"])
        if isinstance(shape, ir.Value):
            return Annotation(shape.type)
        return Annotation(T.shape_type(shape, ndim))

    def _prim(self, node: Node) -> Annotation:
        values = arguments(self.scope, node, ("dtype", "value"), 0)
        dtype = self.dtype(values["dtype"]) if "dtype" in values else "int64"
        if "value" not in values:
            return Annotation(T.element_type(dtype))
        if dtype != "int64":
            self.scope.fail(values["value"], f"a scalar with a value is an int64, not {dtype}")
        return Annotation(T.element_type(dtype), self.dims.dim(values["value"]))

    def _tuple(self, node: Node) -> Annotation:
        items = node.args
        if len(items) == 1 and isinstance(items[0], (ast.List, ast.Tuple)):
            items = items[0].elts
        return Annotation(self._fields(items))

    def _fields(self, items: list[Node]) -> ir.Type:
        return ir.TupleType.get_tuple([self.parse(item).type for item in items])

    def _callable(self, node: Node) -> Annotation:
        """Read `R.Callable((R.Tensor(("n",)),), R.Tensor(("n",)), True)`; symbols are its own."""
        values = arguments(self.scope, node, ("params", "ret", "purity", "derive_func"), 0)
        reader = AnnotationParser(Scope(self.scope.source, self.scope.env), define=True)
        params, ret, pure = (values.get(key) for key in ("params", "ret", "purity"))
        types = None
        if isinstance(params, (ast.Tuple, ast.List)):
            types = [reader.parse(item).type for item in params.elts]
        elif params is not None and not isinstance(params, ast.Constant):
            self.scope.fail(params, "the parameters of a function type are a tuple of types")
        result = reader.parse(ret) if ret is not None else None
        declared = isinstance(pure, ast.Constant) and bool(pure.value)
        returned = result.signature if result is not None else None
        derive = values.get("derive_func")
        if derive is not None and not isinstance(getattr(derive, "value", None), str):
            self.scope.fail(derive, "derive_func is the name of a rule for the type of the result")
        rule = "" if derive is None else derive.value
        signature = Signature(types, result.type if result else None, declared, returned, rule)
        return Annotation(T.object_type(), signature=signature)

    def _object(self, node: Node) -> Annotation:
        return Annotation(T.object_type())

    _any = _object


def stated_type(scope: Scope, node: Node) -> ir.Type:
    """Return the type that an annotation states, the tuple of them for several in a list."""
    items = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    fields = [AnnotationParser(scope).parse(item).type for item in items]
    return fields[0] if len(fields) == 1 else ir.TupleType.get_tuple(fields)
