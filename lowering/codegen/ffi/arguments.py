"""Checked arguments of an exported function: sizes, strides and scalars."""

from relax_mlir.lowering.codegen.ffi.llvm_text import FunctionText
from relax_mlir.lowering.codegen.ffi.signature import BufferParam, ScalarParam, Signature
from relax_mlir.lowering.codegen.ffi.table import WHOLE

# Added to an axis for its stride.
STRIDE = 1 << 16


class ArgumentText(FunctionText):
    """Writes the loads of a function's arguments from the records that the checks fill."""

    def __init__(self, signature: Signature) -> None:
        super().__init__()
        self._signature = signature
        self._slots: list[str] = []  # a record for each parameter
        self._extents: dict[tuple[int, int], str] = {}  # (parameter, axis) -> SSA name

    def _extent(self, number: int, axis: int) -> str:
        """Return a dimension of an argument, one of its strides, or an integer argument."""
        if (number, axis) not in self._extents:
            slot = self._slots[number]
            if axis >= STRIDE:
                param = self._signature.params[number]
                assert isinstance(param, BufferParam)
                rank = self._constant(len(param.dims))
                self._extents[number, axis] = self._emit(
                    f"llvm.call @relax_ffi_stride({slot}, {rank}, "
                    f"{self._constant(axis - STRIDE)}) : (!llvm.ptr, i64, i64) -> i64"
                )
                return self._extents[number, axis]
            if axis != WHOLE:
                shape = self._emit(f"llvm.load {self._at(slot, 24)} : !llvm.ptr -> !llvm.ptr")
                slot = self._at(shape, 8 * axis)
            self._extents[number, axis] = self._emit(f"llvm.load {slot} : !llvm.ptr -> i64")
        return self._extents[number, axis]

    def _buffers(self) -> list[tuple[int, BufferParam]]:
        return [(i, p) for i, p in enumerate(self._signature.params) if isinstance(p, BufferParam)]

    def _number(self, number: int, param: ScalarParam) -> str:
        """Return a number in its own type; the check left 64 bits of it."""
        if not param.is_float:
            whole = self._extent(number, WHOLE)
            return whole if param.bits == 64 else self._emit(
                f"llvm.trunc {whole} : i64 to {param.type}"
            )  # fmt: skip
        value = self._emit(f"llvm.load {self._slots[number]} : !llvm.ptr -> f64")
        if param.bits == 64:
            return value
        single = self._emit(f"llvm.fptrunc {value} : f64 to f32")
        return single if param.bits == 32 else self._half(value, single, param.type)

    def _half(self, value: str, single: str, type_: str) -> str:
        """Return a 64-bit float in half precision, rounded once: LLVM would call a library.

        The single precision is rounded to odd first, so the second rounding sees what was cut off.
        """
        emit, one = self._emit, self._constant(1, "i32")
        back = emit(f"llvm.fpext {single} : f32 to f64")
        sizes = [emit(f"llvm.intr.fabs({each}) : (f64) -> f64") for each in (back, value)]
        above = emit(f'llvm.fcmp "ogt" {sizes[0]}, {sizes[1]} : f64')
        inexact = emit(f'llvm.fcmp "one" {back}, {value} : f64')
        less, odd = (emit(f"llvm.zext {each} : i1 to i32") for each in (above, inexact))
        bits = emit(f"llvm.bitcast {single} : f32 to i32")
        bits = emit(f"llvm.or {emit(f'llvm.sub {bits}, {less} : i32')}, {odd} : i32")
        if type_ != "bf16":
            return emit(f"llvm.fptrunc {emit(f'llvm.bitcast {bits} : i32 to f32')} : f32 to f16")
        sixteen = self._constant(16, "i32")
        last = emit(f"llvm.and {emit(f'llvm.lshr {bits}, {sixteen} : i32')}, {one} : i32")
        half = emit(f"llvm.add {last}, {self._constant(0x7FFF, 'i32')} : i32")
        rounded = emit(f"llvm.add {bits}, {half} : i32")
        nan = emit(f'llvm.fcmp "uno" {single}, {single} : f32')
        quiet = emit(f"llvm.or {bits}, {self._constant(0x400000, 'i32')} : i32")
        kept = emit(f"llvm.select {nan}, {quiet}, {rounded} : i1, i32")
        kept = emit(f"llvm.trunc {emit(f'llvm.lshr {kept}, {sixteen} : i32')} : i32 to i16")
        return emit(f"llvm.bitcast {kept} : i16 to bf16")

    def _strides(self, param: BufferParam, sizes: list[str]) -> list[str]:
        if param.strides is not None:
            number = self._signature.params.index(param)
            return [
                self._extent(number, STRIDE + axis) if stride.constant is None
                else self._constant(stride.constant)
                for axis, stride in enumerate(param.strides)
            ]  # fmt: skip
        strides: list[str] = []
        stride, known = self._constant(1), 1
        for axis in reversed(range(len(sizes))):
            strides.append(stride)
            size = param.static[axis]
            if known is not None and size is not None:
                known *= size
                stride = self._constant(known)
            else:
                known = None
                stride = self._emit(f"llvm.mul {stride}, {sizes[axis]} : i64")
        return strides[::-1]
