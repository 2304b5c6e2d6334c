"""Native objects made from LLVM IR by hand, for tests of the runtime that compile no model."""

import llvmlite.binding as llvm

from relax_mlir.runtime import ExecBuilder, Executable, NativeObject

# Where the tensor of an argument is, and the length of its first dimension.
FIELDS = r"""
define private ptr @tensor(ptr %any) {
  %kind = load i32, ptr %any
  %slot = getelementptr i8, ptr %any, i64 8
  %p = load ptr, ptr %slot
  %inside = getelementptr i8, ptr %p, i64 24
  %is_object = icmp eq i32 %kind, 70
  %r = select i1 %is_object, ptr %inside, ptr %p
  ret ptr %r
}

define private i64 @length(ptr %tensor) {
  %slot = getelementptr i8, ptr %tensor, i64 24
  %dims = load ptr, ptr %slot
  %n = load i64, ptr %dims
  ret i64 %n
}
"""
# add1(x, y): y = x + 1 for 1-d float32; checks that the lengths agree.
ADD1 = (
    FIELDS
    + r"""
@value = private constant [11 x i8] c"ValueError\00"
@shape = private constant [26 x i8] c"add1: x and y differ in n\00"
declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)

define private ptr @start(ptr %tensor) {
  %data = load ptr, ptr %tensor
  %slot = getelementptr i8, ptr %tensor, i64 40
  %offset = load i64, ptr %slot
  %first = getelementptr i8, ptr %data, i64 %offset
  ret ptr %first
}

define i32 @__tvm_ffi_add1(ptr %self, ptr %args, i32 %count, ptr %ret) {
  %args1 = getelementptr i8, ptr %args, i64 16
  %x = call ptr @tensor(ptr %args)
  %y = call ptr @tensor(ptr %args1)
  %n = call i64 @length(ptr %x)
  %m = call i64 @length(ptr %y)
  %same = icmp eq i64 %n, %m
  br i1 %same, label %begin, label %bad
begin:
  %px = call ptr @start(ptr %x)
  %py = call ptr @start(ptr %y)
  br label %test
test:
  %i = phi i64 [0, %begin], [%next, %body]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %from = getelementptr float, ptr %px, i64 %i
  %v = load float, ptr %from
  %w = fadd float %v, 1.0
  %to = getelementptr float, ptr %py, i64 %i
  store float %w, ptr %to
  %next = add i64 %i, 1
  br label %test
done:
  store i32 0, ptr %ret
  ret i32 0
bad:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @value, ptr @shape)
  ret i32 -1
}
"""
)

# meet(counter, n): adds 1 to the counter and waits there until n callers have; true when all came.
MEET = r"""
declare i32 @usleep(i32)
define i32 @__tvm_ffi_meet(ptr %self, ptr %args, i32 %count, ptr %ret) {
  %kind = load i32, ptr %args
  %slot = getelementptr i8, ptr %args, i64 8
  %p = load ptr, ptr %slot
  %inside = getelementptr i8, ptr %p, i64 24
  %is_object = icmp eq i32 %kind, 70
  %tensor = select i1 %is_object, ptr %inside, ptr %p
  %counter = load ptr, ptr %tensor
  %slot1 = getelementptr i8, ptr %args, i64 24
  %n = load i64, ptr %slot1
  %old = atomicrmw add ptr %counter, i64 1 seq_cst
  br label %test
test:
  %tries = phi i32 [0, %0], [%next, %wait]
  %now = load atomic i64, ptr %counter seq_cst, align 8
  %all = icmp sge i64 %now, %n
  br i1 %all, label %done, label %wait
wait:
  %next = add i32 %tries, 1
  %slept = call i32 @usleep(i32 1000)
  %patient = icmp slt i32 %next, 20000
  br i1 %patient, label %test, label %done
done:
  %wide = zext i1 %all to i64
  store i64 2, ptr %ret
  %value = getelementptr i8, ptr %ret, i64 8
  store i64 %wide, ptr %value
  ret i32 0
}
"""


def compile_object(name: str, ir: str, *symbols: str, codemodel: str = "default") -> NativeObject:
    """Return the machine code of LLVM IR for this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        reloc="pic", codemodel=codemodel
    )
    code = machine.emit_object(llvm.parse_assembly(ir))
    return NativeObject(name, code, symbols, llvm.get_process_triple())


def add_one_model() -> Executable:
    """Return `main(x)`, which gives x + 1 in memory of its own, x of any length."""
    ib = ExecBuilder()
    with ib.function("main", 1, ["x"]):
        ib.emit_call("vm.builtin.shape_of", [ib.r(0)], dst=ib.r(1))
        ib.emit_call("vm.builtin.storage_size", [ib.r(1), "float32"], dst=ib.r(2))
        ib.emit_call("vm.builtin.alloc_storage", [ib.r(2), "cpu"], dst=ib.r(3))
        ib.emit_call("vm.builtin.alloc_tensor", [ib.r(3), 0, ib.r(1), "float32"], dst=ib.r(4))
        ib.emit_call("add1", [ib.r(0), ib.r(4)])
        ib.emit_ret(ib.r(4))
    return ib.get([compile_object("kernels", ADD1, "add1")], metadata={"model": "add one"})
