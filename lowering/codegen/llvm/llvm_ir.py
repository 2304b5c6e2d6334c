"""LLVM dialect to the text of LLVM IR that llvmlite's LLVM reads.

The bindings print LLVM IR newer than llvmlite parses; what differs is how floating literals are
spelled. So no literal is printed: floating constants are kept as integer bits in constant globals
and loaded, which LLVM's first simplification folds. (A bitcast of the bits would be folded back by
the translation itself.)
"""

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.errors import CompileError
from relax_mlir.lowering.c_library import translate
from relax_mlir.lowering.codegen.llvm.bfloat16 import as_integers, expand_bfloat_casts
from relax_mlir.lowering.codegen.llvm.cold_branches import weigh_branches
from relax_mlir.lowering.codegen.llvm.loop_hints import prepare_loops
from relax_mlir.lowering.codegen.llvm.optimize import VECTOR_CODE
from relax_mlir.lowering.codegen.llvm.parallel_regions import call_thread_pool
from relax_mlir.lowering.walk import by_name

llvm: ModuleType = submodule("dialects.llvm")

STAGE = "translate to LLVM IR"
_TRANSLATABLE = ("llvm", "omp", "builtin")
_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
_MAX_PROBLEMS = 8
_CAST = "builtin.unrealized_conversion_cast"


def to_llvm_ir(op: ir.Operation, *, hide_counters: bool = False) -> str:
    """Return a module of the LLVM dialect as LLVM IR; rewrites it in place.

    Args:
        op: the module.
        hide_counters: as in `prepare_loops`.

    Raises:
        CompileError: an operation has no LLVM IR; names it and its location.
    """
    ops = by_name(op)
    check_translatable(ops)
    expand_bfloat_casts(ops)
    weigh_branches(ops)
    head = VECTOR_CODE if prepare_loops(ops, hide_counters=hide_counters) else ""
    hide_float_literals(op, ops)
    return head + call_thread_pool(as_integers(translate(op)))


def check_translatable(ops: Mapping[str, list[ir.Operation]]) -> None:
    """Raise `CompileError` for operations that the translation would crash on."""
    problems = [
        f"'{name}' at {each.location}"
        for name, all_ in ops.items()
        if name.partition(".")[0] not in _TRANSLATABLE or name == _CAST
        for each in all_
    ]
    if problems:
        more = len(problems) - _MAX_PROBLEMS
        listed = "; ".join(problems[:_MAX_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")
        raise CompileError(STAGE, f"not in the LLVM dialect after lowering: {listed}")


def hide_float_literals(op: ir.Operation, ops: Mapping[str, list[ir.Operation]]) -> None:
    """Replace floating constants of a module by loads of their bits from constant globals."""
    pool = _BitPool(op)
    for name in ("llvm.mlir.constant", "llvm.mlir.zero"):
        for constant in ops.get(name, ()):
            bits = _bits_of_constant(constant)
            if bits is not None:
                pool.load_instead(constant, bits)
    for global_ in ops.get("llvm.mlir.global", ()):
        _hide_in_global(global_)


def _bits_of_constant(constant: ir.Operation) -> ir.Attribute | None:
    if "value" in constant.attributes:
        return _as_bits(constant.attributes["value"])
    type_ = constant.results[0].type
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    if str(element) not in _BITS:
        return None
    zero = ir.FloatAttr.get(element, 0.0)
    splat = isinstance(type_, ir.VectorType)
    return _as_bits(ir.DenseElementsAttr.get_splat(type_, zero) if splat else zero)


def _as_bits(value: ir.Attribute) -> ir.Attribute | None:
    """Return the integer attribute with a floating one's bits, None for any other attribute."""
    if isinstance(value, ir.FloatAttr):
        width = _BITS.get(str(value.type))
        if width is None:
            return None
        bits = int(_round_to(np.array([value.value]), str(value.type))[0])
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(width), bits)
    if not isinstance(value, ir.DenseFPElementsAttr):
        return None
    shaped = ir.ShapedType(value.type)
    element = str(shaped.element_type)
    if element not in _BITS:
        return None
    integer = ir.IntegerType.get_signless(_BITS[element])
    type_ = (
        ir.VectorType
        if isinstance(value.type.maybe_downcast(), ir.VectorType)
        else ir.RankedTensorType
    ).get(shaped.shape, integer)
    if value.is_splat:
        one = _as_bits(value.get_splat_value())
        return None if one is None else ir.DenseElementsAttr.get_splat(type_, one)
    bits: Any = (
        _bfloat_bits(str(value)) if element == "bf16" else _round_to(np.array(value), element)
    )
    return ir.DenseElementsAttr.get(bits.reshape(shaped.shape), type=type_)


def _round_to(values: np.ndarray, element: str) -> np.ndarray:
    # The values came out of that very type, so nothing is rounded here, except a NaN's payload.
    with np.errstate(invalid="ignore"):
        if element == "f64":
            return values.view(np.int64)
        if element == "f16":
            return values.astype(np.float16).view(np.int16)
        bits = values.astype(np.float32).view(np.int32)
    return bits if element == "f32" else (bits >> 16).astype(np.int16)


def _bfloat_bits(text: str) -> np.ndarray:
    # The bindings cannot read bf16 elements; the text has numbers, or bits in hexadecimal.
    text = text.rpartition(":")[0]
    blob = re.search(r'"0x([0-9A-Fa-f]*)"', text)
    if blob is not None:
        return np.frombuffer(bytes.fromhex(blob[1]), dtype="<i2").copy()
    words = re.findall(r"0x[0-9A-Fa-f]+|[-+]?[\d.]+(?:e[-+]?\d+)?", text)
    return np.array([_bfloat_word(word) for word in words], dtype=np.uint16).view(np.int16)


def _bfloat_word(word: str) -> int:
    if word.startswith("0x"):
        return int(word, 16)
    return int(_round_to(np.array([float(word)]), "bf16")[0]) & 0xFFFF


def _hide_in_global(global_: ir.Operation) -> None:
    if "value" not in global_.attributes:
        return
    bits = _as_bits(global_.attributes["value"])
    if bits is None:
        return
    text = str(global_.attributes["global_type"].value)
    global_.attributes["value"] = bits
    # Users name the element type themselves; a pointer has none.
    global_.attributes["global_type"] = ir.TypeAttr.get(ir.Type.parse(_integers_for_floats(text)))


def _integers_for_floats(type_text: str) -> str:
    return re.sub(r"(bf16|f16|f32|f64)\b", lambda match: f"i{_BITS[match[1]]}", type_text)


class _BitPool:
    """Constant globals that hold the bits of floating constants, one for each distinct value."""

    def __init__(self, module: ir.Operation) -> None:
        self._location = module.location
        self._block = module.regions[0].blocks[0]
        self._names: dict[tuple[ir.Attribute, ir.Type], str] = {}
        self._pointer = ir.Type.parse("!llvm.ptr", module.context)
        self._unordered = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, module.context), 0)

    def load_instead(self, constant: ir.Operation, bits: ir.Attribute) -> None:
        """Replace a constant by a load of its bits."""
        result = constant.results[0]
        name = self._global_for(bits, result.type)
        with constant.location, ir.InsertionPoint(constant):
            pointer = ir.Operation.create(
                "llvm.mlir.addressof",
                results=[self._pointer],
                attributes={"global_name": ir.FlatSymbolRefAttr.get(name)},
            ).results[0]
            load = ir.Operation.create(
                "llvm.load",
                results=[result.type],
                operands=[pointer],
                attributes={"ordering": self._unordered},
            )
        result.replace_all_uses_with(load.results[0])
        constant.erase()

    def _global_for(self, bits: ir.Attribute, type_: ir.Type) -> str:
        key = (bits, type_)
        if key not in self._names:
            name = self._names[key] = f"relax_float_bits_{len(self._names)}"
            text = f"llvm.mlir.global internal constant @{name}({bits}) {{alignment = 64 : i64}}"
            with ir.InsertionPoint.at_block_begin(self._block), self._location:
                made = ir.Operation.parse(f"{text} : {_integers_for_floats(str(type_))}")
                ir.InsertionPoint.current.insert(made)
        return self._names[key]
