"""Native objects: linking, calling, errors, lifetime."""

import dataclasses
import gc
import threading

import numpy as np
import pytest
from native_code import FIELDS, compile_object

from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError, ShapeMismatchError
from relax_mlir.runtime import (
    ExecBuilder,
    Executable,
    NativeObject,
    VirtualMachine,
    register_func,
    remove_global_func,
)
from relax_mlir.runtime.native import cpu_features
from relax_mlir.runtime.native.cpu_features import needed_features

llvm = pytest.importorskip("llvmlite.binding")
tvm_ffi = pytest.importorskip("tvm_ffi")

# add1(x, y): y = float(half(x)) + 1 for 1-d float32; checks the count and the lengths.
# The conversion makes it call libgcc on CPUs without F16C.
ADD1 = (
    FIELDS
    + r"""
@type = private constant [10 x i8] c"TypeError\00"
@count = private constant [27 x i8] c"add1: expected 2 arguments\00"
@value = private constant [11 x i8] c"ValueError\00"
@shape = private constant [26 x i8] c"add1: x and y differ in n\00"
declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)

define i32 @__tvm_ffi_add1(ptr %self, ptr %args, i32 %count, ptr %ret) {
  %two = icmp eq i32 %count, 2
  br i1 %two, label %lengths, label %bad_count
lengths:
  %args1 = getelementptr i8, ptr %args, i64 16
  %x = call ptr @tensor(ptr %args)
  %y = call ptr @tensor(ptr %args1)
  %n = call i64 @length(ptr %x)
  %m = call i64 @length(ptr %y)
  %same = icmp eq i64 %n, %m
  br i1 %same, label %start, label %bad_shape
start:
  %px = load ptr, ptr %x
  %py = load ptr, ptr %y
  br label %test
test:
  %i = phi i64 [0, %start], [%next, %body]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %from = getelementptr float, ptr %px, i64 %i
  %v = load float, ptr %from
  %half = fptrunc float %v to half
  %back = fpext half %half to float
  %w = fadd float %back, 1.0
  %to = getelementptr float, ptr %py, i64 %i
  store float %w, ptr %to
  %next = add i64 %i, 1
  br label %test
done:
  store i32 0, ptr %ret
  ret i32 0
bad_count:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @type, ptr @count)
  ret i32 -1
bad_shape:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @value, ptr @shape)
  ret i32 -1
}
"""
)


@pytest.fixture(scope="module")
def add1() -> NativeObject:
    return compile_object("kernels", ADD1, "add1")


def _build(*native: NativeObject) -> Executable:
    ib = ExecBuilder()
    with ib.function("main", 1, ["x"]):
        ib.emit_call("vm.builtin.shape_of", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("vm.builtin.alloc_storage", [4096], dst=ib.r(2))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(2), 0, ib.r(1), "float32"], dst=ib.r(3))
        ib.emit_call("add1", [ib.r(0), ib.r(3)])
        ib.emit_ret(ib.r(3))
    with ib.function("both", 2, ["x", "y"]):
        ib.emit_call("add1", [ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("one", 1, ["x"]):
        ib.emit_call("add1", [ib.r(0)])
        ib.emit_ret(ib.r(0))
    return ib.get(native)


@pytest.mark.parametrize("n", [0, 1, 7, 1024])
def test_native_call_after_reload(add1: NativeObject, n: int) -> None:
    vm = VirtualMachine(Executable.from_bytes(_build(add1).to_bytes()))
    assert vm.functions == ("main", "both", "one", "add1")
    x = np.arange(n, dtype="float32")
    np.testing.assert_array_equal(vm["main"](x), x + 1)
    x.flags.writeable = False
    np.testing.assert_array_equal(vm["main"](x), x + 1)
    np.testing.assert_array_equal(vm["main"](x[::-1]), x[::-1] + 1)


@pytest.mark.slow
def test_native_errors_become_ours(add1: NativeObject) -> None:
    vm = VirtualMachine(_build(add1))
    x, y = np.zeros(3, "float32"), np.zeros(4, "float32")
    with pytest.raises(ShapeMismatchError) as raised:
        vm["both"](x, y)
    assert str(raised.value) == (
        "add1: x and y differ in n\n  in VM function 'both', instruction 0 (call add1)"
    )
    with pytest.raises(ArgumentTypeError, match="expected 2 arguments\n  in VM function 'one'"):
        vm["one"](x)
    with pytest.raises(ShapeMismatchError, match=r"differ in n$"):
        vm["add1"](x, y)
    assert vm["both"](x, x.copy()) is None


def test_native_functions_outlive_the_vm(add1: NativeObject) -> None:
    vm = VirtualMachine(_build(add1))
    func = vm["add1"]
    register_func("test.native.add1", func)
    del vm
    gc.collect()
    x, y = np.arange(3, dtype="float32"), np.zeros(3, "float32")
    tvm_ffi.get_global_func("test.native.add1")(x, y)
    np.testing.assert_array_equal(y, x + 1)
    remove_global_func("test.native.add1")


def test_objects_call_each_other_and_load_once(add1: NativeObject) -> None:
    other = """
    declare i32 @__tvm_ffi_add1(ptr, ptr, i32, ptr)
    define i32 @__tvm_ffi_again(ptr %s, ptr %a, i32 %n, ptr %r) {
      %1 = call i32 @__tvm_ffi_add1(ptr %s, ptr %a, i32 %n, ptr %r)
      ret i32 %1
    }
    """
    ex = _build(add1, compile_object("more", other, "__tvm_ffi_again"))
    x, y = np.arange(3, dtype="float32"), np.zeros(3, "float32")
    VirtualMachine(ex)["again"](x, y)
    np.testing.assert_array_equal(y, x + 1)
    assert ex.load_native() is ex.load_native()


def test_unusable_objects(add1: NativeObject) -> None:
    def load(**changes: object) -> None:
        VirtualMachine(_build(dataclasses.replace(add1, **changes)))

    with pytest.raises(ExecutableFormatError, match="not recognized as a valid object"):
        load(data=b"junk" * 30)
    for cut in (70, 300, 900):
        with pytest.raises(ExecutableFormatError, match="cannot link native object 'kernels'"):
            load(data=add1.data[:cut])
    with pytest.raises(ExecutableFormatError, match="symbols not found: __tvm_ffi_nope"):
        load(symbols=("nope",))
    with pytest.raises(ExecutableFormatError, match="is for sparc64-linux-gnu, this machine is"):
        load(triple="sparc64-linux-gnu")
    known = llvm.get_host_cpu_features()
    absent = [f for f in ("avx512fp16", "amx-tile", "avx512f", "avx2") if not known.get(f, True)]
    if absent:
        with pytest.raises(ExecutableFormatError, match=f"'cpu9' and needs {absent[0]}, which"):
            load(cpu="cpu9", features=f"-x87,+{absent[0]}")
    with pytest.raises(ExecutableFormatError, match="two native objects export 'add1'"):
        VirtualMachine(_build(add1, add1))


def test_features_that_code_needs() -> None:
    assert needed_features("", "") == needed_features("generic", "") == set()
    assert needed_features("x86-64-v3", "") == {
        *("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf"),
        *("sse3", "sse4.1", "sse4.2", "ssse3"),
    }
    assert needed_features("haswell", "-avx2, +sha") == (
        needed_features("x86-64-v3", "+pclmul,+sha") - {"avx2"}
    )
    assert needed_features("sapphirerapids", "") > needed_features("icelake-server", "")
    assert needed_features("znver5", "") > needed_features("znver4", "")
    assert needed_features("my-cpu", "") is None
    assert needed_features("my-cpu", "-avx") is None
    # What the system may switch off and code does not use.
    assert needed_features("my-cpu", "+avx,+pku,+shstk") == {"avx"}


@pytest.mark.parametrize(
    ("cpu", "features", "missing"),
    [
        ("x86-64-v4", "", "avx512bw, avx512cd, avx512dq, avx512f, avx512vl"),
        ("znver4", "-avx512bf16", "avx512bitalg, "),
        ("generic", "+avx512f", "avx512f"),
        ("elsewhere", "+avx,+amx-tile,+avx512fp16", "amx-tile, avx512fp16"),
    ],
)
def test_a_lesser_cpu_is_an_error(
    add1: NativeObject,
    monkeypatch: pytest.MonkeyPatch,
    cpu: str,
    features: str,
    missing: str,
) -> None:
    has = {"avx", "avx2", "fma"}
    lacks = dict.fromkeys(["avx512fp16", "amx-tile", *needed_features("znver5", "")], False)
    for name in needed_features("haswell", "+aes,+adx,+sha,+sse4a"):
        lacks[name] = True
    monkeypatch.setattr(
        llvm, "get_host_cpu_features", lambda: {**lacks, **dict.fromkeys(has, True)}
    )
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: "haswell")
    monkeypatch.setattr(cpu_features, "reported_features", lambda: has)
    ex = _build(dataclasses.replace(add1, cpu=cpu, features=features))
    with pytest.raises(ExecutableFormatError) as raised:
        VirtualMachine(Executable.from_bytes(ex.to_bytes()))
    message = str(raised.value)
    assert f"native object 'kernels' was compiled for CPU '{cpu}' and needs {missing}" in message
    assert message.endswith("which this CPU (haswell) lacks; compile the model for this machine")


def test_an_unknown_cpu_is_an_error_elsewhere(add1: NativeObject) -> None:
    ex = _build(dataclasses.replace(add1, cpu="m7-turbo"))
    with pytest.raises(ExecutableFormatError, match="'m7-turbo' and does not say what it needs of"):
        VirtualMachine(ex)
    here = _build(dataclasses.replace(add1, cpu=llvm.get_host_cpu_name()))
    np.testing.assert_array_equal(VirtualMachine(here)["main"](np.zeros(3, "float32")), [1, 1, 1])


def test_threads_call_native_code(add1: NativeObject) -> None:
    main = VirtualMachine(_build(add1))["main"]
    wrong = []

    def work(seed: int) -> None:
        x = np.full(1000, seed, "float32")
        wrong.extend(seed for _ in range(100) if not (main(x) == seed + 1).all())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
