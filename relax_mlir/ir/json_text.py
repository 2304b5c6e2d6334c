"""`save_json` and `load_json`: types, expressions, modules, tensors and containers of them as JSON.

An object is `{"class": name, "fields": {...}}`, one that was written already
`{"ref": number}`. TVM's own files are not read.
"""

import base64
import importlib
import json
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.parse import read_expression
from relax_mlir.errors import ExprError, ExprTypeError, did_you_mean
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.single_function import is_function
from relax_mlir.runtime.values.convert import to_value
from relax_mlir.runtime.values.ndarray import Tensor

# Module -> class -> what its constructor takes, which are its attributes too.
_CLASSES: dict[str, dict[str, tuple[str, ...]]] = {
    "relax_mlir.relax.expr": {
        "TensorType": ("shape", "dtype", "ndim"),
        "ShapeType": ("values", "ndim"),
        "TupleType": ("fields",),
        "ObjectType": (),
        "MissingType": (),
        "PackedFuncType": ("params", "ret", "purity"),
        "FuncType": ("params", "ret", "purity"),
        "PrimType": ("dtype", "value"),
        "DataflowVar": ("name", "ty"),
        "Var": ("name", "ty"),
        "Constant": ("data",),
        "ShapeExpr": ("values",),
        "PrimValue": ("value",),
        "StringImm": ("value",),
        "DataTypeImm": ("value",),
        "GlobalVar": ("name_hint",),
        "ExternFunc": ("global_symbol",),
        "Op": ("name",),
        "Tuple": ("fields",),
        "TupleGetItem": ("tuple_value", "index"),
        "Call": ("op", "args", "attrs", "ty_args"),
        "If": ("cond", "true_branch", "false_branch"),
        "VarBinding": ("var", "value"),
        "MatchCast": ("var", "value", "ty"),
        "DataflowBlock": ("bindings",),
        "BindingBlock": ("bindings",),
        "SeqExpr": ("blocks", "body"),
        "Attrs": (),
    },
    "relax_mlir.tir": {
        "IntImm": ("dtype", "value"),
        "FloatImm": ("dtype", "value"),
        **dict.fromkeys(
            ("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max", "EQ", "NE",
             "LT", "LE", "GT", "GE", "And", "Or"), ("a", "b")),
    },
}  # fmt: skip
_FIELDS = {name: fields for classes in _CLASSES.values() for name, fields in classes.items()}
_FORMS = frozenset({"class", "float", "function", "map", "module", "ref", "size", "tensor"})
# Classes that TVM has under another name.
_TVM_NAMES = {"DictAttrs": "Attrs", "AnyType": "ObjectType"}


def save_json(node: Any) -> str:
    """Return something of a program as JSON.

    Args:
        node: a type, an expression, a binding or block that Python built, a scalar expression, a
            module or function, a tensor, a text or number, or lists and mappings of these.

    Raises:
        ExprTypeError: it is none of these.
        ExprError: expressions are nested in one another too deep.
    """
    version = vars(sys.modules["relax_mlir"])["__version__"]
    try:
        root = _Writer().node(node)
        return json.dumps({"root": root, "metadata": {"tvm_version": version}}, indent=1)
    except RecursionError as error:
        raise ExprError(
            "expressions are nested too deep for JSON: bind parts to variables of a function"
        ) from error


def load_json(text: str) -> Any:
    """Return what `save_json` wrote: an equal object, whose parts are shared as they were.

    Raises:
        ExprTypeError: it is no JSON of `save_json`.
    """
    try:
        graph = json.loads(text)
        return _Reader().node(graph["root"])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ExprTypeError(f"expected what save_json writes: {error}") from error


def make_node(type_key: str, **fields: Any) -> Any:
    """Return an object of a class by TVM's name of it and its fields, `ir.DictAttrs`.

    Raises:
        ExprTypeError: there is no such class here, or these are not its fields.
    """
    name = type_key.rsplit(".", 1)[-1]
    name = _TVM_NAMES.get(name, name)
    if name not in _FIELDS:
        raise ExprTypeError(f"no class '{type_key}'{did_you_mean(name, _FIELDS)}")
    fields.pop("span", None)
    if name == "Attrs":
        return _class(name)(fields)
    if "dtype" in _FIELDS[name] and "ty" in fields:
        fields["dtype"] = fields.pop("ty").dtype
    try:
        return _class(name)(**fields)
    except TypeError as error:
        raise ExprTypeError(f"{type_key}: {error}") from error


def _class(name: str) -> Any:
    path = next(path for path, classes in _CLASSES.items() if name in classes)
    return getattr(importlib.import_module(path), name)


class _Writer:
    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, Any]] = {}

    def node(self, node: Any) -> Any:
        """Return what stands for a node in JSON."""
        if node is None or isinstance(node, (bool, int)):
            return node
        if isinstance(node, float):
            return node if math.isfinite(node) else {"float": repr(node)}
        if isinstance(node, str):
            return str(node)
        if isinstance(node, SymExpr):
            return {"size": str(node)}
        if isinstance(node, IRModule):
            return {"module": str(node)}
        if is_function(node) and node.mlir_op is not None:
            return {"function": str(IRModule.from_expr(node))}
        name = type(node).__name__
        if name in _FIELDS and isinstance(node, _class(name)):
            return self._object(name, node)
        if hasattr(node, "__dlpack__") or isinstance(node, (np.ndarray, np.generic)):
            array = to_value(node)
            data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
            return {"tensor": [str(array.dtype), list(array.shape), data]}
        if isinstance(node, Mapping) or hasattr(node, "items"):
            return {"map": [[self.node(key), self.node(value)] for key, value in node.items()]}
        if isinstance(node, (list, tuple)) or hasattr(node, "__getitem__"):
            return [self.node(item) for item in node]
        raise ExprTypeError(f"save_json has no form for {type(node).__name__}")

    def _object(self, name: str, node: Any) -> Any:
        if id(node) in self._seen:
            return {"ref": self._seen[id(node)][0]}
        # Kept: an `id` is one object's only while that lives.
        self._seen[id(node)] = (len(self._seen), node)
        fields = {field: self.node(getattr(node, field)) for field in _FIELDS[name]}
        if name == "Attrs":
            fields = {key: self.node(value) for key, value in node.items()}
        return {"class": name, "fields": fields}


class _Reader:
    def __init__(self) -> None:
        self._made: list[Any] = []

    def node(self, form: Any) -> Any:
        """Return the node that JSON stands for."""
        if isinstance(form, list):
            return [self.node(item) for item in form]
        if not isinstance(form, dict):
            return form
        ((tag, value), *_) = form.items()
        if tag not in _FORMS:
            raise ValueError(f"no form '{tag}'")
        return getattr(self, f"_{tag}")(value, form)

    def _float(self, value: str, form: Any) -> float:
        return float(value)

    def _size(self, value: str, form: Any) -> SymExpr:
        return read_expression(value)

    def _module(self, value: str, form: Any) -> IRModule:
        return IRModule.parse(value)

    def _function(self, value: str, form: Any) -> Any:
        module = IRModule.parse(value)
        return module[module.function_names[0]]

    def _tensor(self, value: Any, form: Any) -> Tensor:
        dtype, shape, data = value
        try:
            element = np.dtype(dtype)
        except TypeError:
            import ml_dtypes

            element = np.dtype(getattr(ml_dtypes, dtype))
        return np.frombuffer(base64.b64decode(data), element).reshape(shape).copy().view(Tensor)

    def _map(self, value: Any, form: Any) -> dict[Any, Any]:
        return {self.node(key): self.node(item) for key, item in value}

    def _ref(self, value: int, form: Any) -> Any:
        return self._made[value]

    def _class(self, name: str, form: Any) -> Any:
        if name not in _FIELDS:
            raise ValueError(f"no class '{name}'{did_you_mean(name, _FIELDS)}")
        place = len(self._made)
        self._made.append(None)
        fields = {key: self.node(item) for key, item in form["fields"].items()}
        missing = name in ("Var", "DataflowVar") and fields["ty"].is_missing()
        if missing:
            del fields["ty"]
        if name in ("TensorType", "ShapeType") and next(iter(fields.values())) is not None:
            # It is written for readers; the sizes say it.
            del fields["ndim"]
        made = _class(name)(fields) if name == "Attrs" else _class(name)(**fields)
        self._made[place] = made
        return made
