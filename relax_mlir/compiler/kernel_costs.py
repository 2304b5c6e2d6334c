"""Operations and bytes of each native function, for the executable's metadata."""

import contextlib
from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.lowering.walk import collect

# Arithmetic on floating-point numbers; of the dialect `math`, every operation counts as one.
_FLOPS = {
    **dict.fromkeys(("addf", "subf", "mulf", "divf", "negf", "remf", "maximumf", "minimumf"), 1),
    **dict.fromkeys(("maxnumf", "minnumf"), 1),
}
_FUSED = {"math.fma": 2}
_WORKSPACE = "workspace"


class Unknown(Exception):
    """A size or a count that cannot be said at compile time; never leaves this module."""


def kernel_costs(module: ir.Module) -> dict[str, dict[str, Any]]:
    """Return an entry for each prim func that the bytecode may call.

    An entry has `params`, the shape of every tensor as a list of expressions; `dtypes`; `ints`, the
    names of its integer parameters; `writes`, the indices of tensors it writes; `parts`, the prim
    funcs it calls, if any; `strided`, for one that takes views as they are; `slots`, for one
    that computes entries of a shape heap, by their numbers, from others, `s<number>`; and, where
    they are known, `flops` and `bytes`, expressions over the symbols of the shapes.
    """
    functions = {
        view.operation.attributes["sym_name"].value: view.operation
        for view in module.body.operations
        if "tir.prim_func" in view.operation.attributes and view.operation.regions[0].blocks
    }
    costs = _Costs(functions)
    return {
        name: costs.entry(name)
        for name, op in functions.items()
        if "tir.internal" not in op.attributes
    }


class _Function:
    """What a prim func's signature says."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.shapes: list[list[SymExpr]] = []
        self.dtypes: list[str] = []
        self.names: list[str] = []
        self.ints: list[str] = []
        self.values: dict[ir.Value, list[SymExpr]] = {}
        self.integers: dict[ir.Value, SymExpr] = {}
        self.strided = False
        attributes = op.attributes
        given = ir.ArrayAttr(attributes["arg_attrs"]) if "arg_attrs" in attributes else []
        arguments = list(op.regions[0].blocks[0].arguments)
        for value, each in zip(arguments, given, strict=False):
            items = {item.name: item.attr for item in ir.DictAttr(each)}
            name = ir.StringAttr(items["tir.name"]).value if "tir.name" in items else ""
            self.strided = self.strided or "tir.strides" in items
            if "tir.shape" in items:
                self.values[value] = list(Dims(items["tir.shape"]).dims)
                self.shapes.append(self.values[value])
                self.dtypes.append(ir.StringAttr(items["tir.dtype"]).value)
                self.names.append(name)
            elif "tir.dtype" not in items:
                self.ints.append(name)
                self.integers[value] = SymExpr.var(name)


class _Costs:
    """Counts operations; remembers those of functions that others call."""

    def __init__(self, functions: dict[str, ir.Operation]) -> None:
        self._functions = functions
        self._known: dict[str, SymExpr | None] = {}
        self._written: dict[str, list[int]] = {}
        self._signatures: dict[str, _Function] = {}

    def entry(self, name: str) -> dict[str, Any]:
        signature = self._signature(name)
        result: dict[str, Any] = {
            "params": [[_plain(dim) for dim in shape] for shape in signature.shapes],
            "dtypes": signature.dtypes,
            "ints": signature.ints,
            "writes": self._writes(name),
        }
        if signature.strided:
            result["strided"] = True
        if "tir.slots" in self._functions[name].attributes:
            slots = ir.DictAttr(self._functions[name].attributes["tir.slots"])
            result["slots"] = {item.name: ir.StringAttr(item.attr).value for item in slots}
        parts = [op.attributes["callee"].value for op in _calls(self._functions[name])]
        if parts:
            result["parts"] = parts
        flops = self._flops_of(name)
        if flops is not None and flops.value != 0:
            result["flops"] = _plain(flops)
        result["bytes"] = _plain(self._bytes(signature))
        return result

    def _signature(self, name: str) -> _Function:
        if name not in self._signatures:
            self._signatures[name] = _Function(self._functions[name])
        return self._signatures[name]

    @staticmethod
    def _bytes(signature: _Function) -> SymExpr:
        total = SymExpr.const(0)
        for shape, dtype, name in zip(
            signature.shapes, signature.dtypes, signature.names, strict=True
        ):
            if name != _WORKSPACE:
                total = total + product(shape) * T.dtype_size(dtype)
        return total

    def _flops_of(self, name: str) -> SymExpr | None:
        if name not in self._known:
            self._known[name] = None
            signature = self._signature(name)
            with contextlib.suppress(Unknown):
                self._known[name] = self._block(
                    signature.op.regions[0].blocks[0], signature, SymExpr.const(1)
                )
        return self._known[name]

    def _block(self, block: ir.Block, function: _Function, times: SymExpr) -> SymExpr:
        total = SymExpr.const(0)
        for view in block.operations:
            op = view.operation
            dialect, _, kind = op.name.partition(".")
            if dialect == "arith" and kind in _FLOPS:
                total = total + times
            elif dialect == "math":
                total = total + times * _FUSED.get(op.name, 1)
            elif op.name == "func.call":
                total = total + times * self._call(op, function)
            elif op.name == "tir.block":
                # Its own iterators say how often it runs, however the loops around it are split.
                extents = list(op.operands)[len(op.operands) // 2 :]
                count = product([_integer(value, function) for value in extents])
                total = total + self._block(op.regions[0].blocks[0], function, count)
            elif op.name == "tir.for":
                inner = times * _integer(op.operands[1], function)
                total = total + self._block(op.regions[0].blocks[0], function, inner)
            elif op.name == "scf.if":
                for region in op.regions:
                    for each in region.blocks:
                        total = total + self._block(each, function, times)
            elif len(op.regions):
                raise Unknown
        return total

    def _call(self, op: ir.Operation, function: _Function) -> SymExpr:
        name = op.attributes["callee"].value
        flops = self._flops_of(name) if name in self._functions else None
        if flops is None:
            raise Unknown
        callee = self._signature(name)
        known: dict[str, SymExpr] = {}
        parameters = list(callee.op.regions[0].blocks[0].arguments)
        pairs = list(zip(parameters, op.operands, strict=False))
        for parameter, value in pairs:
            shape = callee.values.get(parameter, [])
            if not all(dim.is_const for dim in shape):
                for want, got in zip(shape, _shape(value, function), strict=True):
                    if want.name:
                        known.setdefault(want.name, got)
        for parameter, value in pairs:
            if parameter in callee.integers:
                known[callee.integers[parameter].name or ""] = _integer(value, function)
        if not flops.symbols <= known.keys():
            raise Unknown
        return flops.substitute(known)

    def _writes(self, name: str) -> list[int]:
        """Return the indices of the tensors that a function writes to."""
        if name in self._written:
            return self._written[name]
        self._written[name] = []
        signature = self._signature(name)
        positions = {value: i for i, value in enumerate(signature.values)}
        written: set[int] = set()

        def visit(op: ir.Operation) -> ir.WalkResult:
            targets: Sequence[ir.Value] = ()
            if op.name == "tir.writes":
                targets = op.operands
            elif op.name == "memref.store":
                targets = [op.operands[1]]
            elif op.name == "func.call" and op.attributes["callee"].value in self._functions:
                writes = self._writes(op.attributes["callee"].value)
                buffers = [each for each in op.operands if isinstance(each.type, ir.MemRefType)]
                targets = [buffers[i] for i in writes]
            for value in targets:
                root = _root(value)
                if root in positions:
                    written.add(positions[root])
            return ir.WalkResult.ADVANCE

        self._functions[name].walk(visit)
        self._written[name] = sorted(written)
        return self._written[name]


def _calls(function: ir.Operation) -> list[ir.Operation]:
    return collect(function, lambda inner: inner.name == "func.call")


def _maker(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def _root(value: ir.Value) -> ir.Value:
    while (op := _maker(value)) is not None and op.name in ("memref.cast", "memref.view"):
        value = op.operands[0]
    return value


def _integer(value: ir.Value, function: _Function) -> SymExpr:
    """Return an integer of a prim func as an expression over its symbols."""
    if value in function.integers:
        return function.integers[value]
    op = _maker(value)
    if op is not None and op.name == "arith.constant":
        return SymExpr.const(ir.IntegerAttr(op.attributes["value"]).value)
    if op is not None and op.name == "tir.symbol":
        return Dims(op.attributes["value"]).dims[0]
    if op is not None and op.name in ("arith.index_cast", "arith.extsi"):
        return _integer(op.operands[0], function)
    raise Unknown


def _shape(value: ir.Value, function: _Function) -> list[SymExpr]:
    """Return the shape of a buffer of a prim func."""
    if value in function.values:
        return function.values[value]
    op = _maker(value)
    if op is not None and op.name == "memref.cast":
        return _shape(op.operands[0], function)
    if op is not None and "tir.shape" in op.attributes:
        return list(Dims(op.attributes["tir.shape"]).dims)
    if op is not None and op.name == "memref.view":
        type_ = ir.MemRefType(value.type)
        sizes = iter([_integer(size, function) for size in list(op.operands)[2:]])
        return [
            next(sizes) if type_.is_dynamic_dim(i) else SymExpr.const(type_.get_dim_size(i))
            for i in range(type_.rank)
        ]
    raise Unknown


def _plain(expr: SymExpr) -> int | str:
    # `runtime.costs` knows max and min without the script's prefix.
    return str(expr).replace("T.", "") if expr.value is None else expr.value
