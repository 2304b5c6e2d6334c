"""The thread pool of parallel kernels: tasks are claimed one at a time.

A parallel region is a function that is called once for each piece. Its caller and the pool's
workers claim pieces from a counter, and the caller returns when all pieces are done. A worker that
does not run, because another process has its core, claims nothing and delays nobody; OpenMP's
barrier waits for it (a time slice, some 3 ms). Which thread computes a piece does not change it.

Regions with barriers have as many pieces as threads. Only one of them runs at a time, so that its
threads are all there sooner or later; another one that begins meanwhile runs on its caller alone.

Workers wait for up to 100 us before they sleep: consecutive kernels of a model find them awake.
The pool is LLVM IR because the machine that runs a model needs no C compiler. Files of executables
have it compiled.
"""

import functools
import zlib

# A claim is one compare-and-swap of a job's word: generation (24 bits), threads that have joined
# (8), pieces (16), the next piece (16). Fields of a job that were read before a successful swap
# belong to it: the generation has not changed, and a job with unclaimed pieces is not reused. Every
# thread joins with a piece, the caller with the first, so no more join than there are pieces:
# kernels have memory for as many.
MAX_THREADS = (1 << 8) - 1
_JOBS = 16
POOL_FUNCTIONS = (
    "relax_mlir_parallel", "relax_mlir_barrier", "relax_mlir_max_threads", "relax_mlir_set_threads",
)  # fmt: skip
# Pauses, of 10 to 50 ns each, before a thread that waits sleeps or yields.
_SPINS = 2000
POOL = "thread pool"
_OBJECTS: dict[str, bytes] = {}
_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    # YIELD does nothing on most cores; ISB takes some 10 ns.
    "aarch64": ("declare void @llvm.aarch64.isb(i32)", "call void @llvm.aarch64.isb(i32 15)"),
}
_SOURCE = """
; A job: word, pieces done, threads at the barrier, barriers passed, whether it is taken, the
; function, its values.
%Job = type { i64, i32, i32, i32, i32, ptr, ptr, [88 x i8] }
; What a function learns as its second argument: piece, pieces, thread, the job.
%Member = type { i32, i32, i32, i32, ptr }

@jobs = internal global [<JOBS> x %Job] zeroinitializer, align 128
@epoch = internal global i32 0, align 128      ; jobs published
@sleepers = internal global i32 0, align 128
@workers = internal global i32 0, align 128    ; started
@process = internal global i32 0               ; a forked child has no workers
@wanted = internal global i32 0                ; most threads of a region; 0: not asked yet
@barriers = internal global i32 0              ; whether a region with barriers runs
@mutex = internal global [64 x i8] zeroinitializer, align 16
@wake = internal global [64 x i8] zeroinitializer, align 16
@variable = internal constant [16 x i8] c"OMP_NUM_THREADS\\00"

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @getpid()
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
declare i1024 @llvm.ctpop.i1024(i1024)
<DECLARE_PAUSE>

define void @relax_mlir_set_threads(i32 %count) {
  %least = call i32 @llvm.smax.i32(i32 %count, i32 1)
  %most = call i32 @llvm.smin.i32(i32 %least, i32 <MAX_THREADS>)
  store atomic i32 %most, ptr @wanted seq_cst, align 4
  ret void
}

; Most threads of a region: what was set, else OMP_NUM_THREADS, else the CPUs of this process.
define i32 @relax_mlir_max_threads() {
  %known = load atomic i32, ptr @wanted monotonic, align 4
  %is_known = icmp ne i32 %known, 0
  br i1 %is_known, label %done, label %ask
done:
  ret i32 %known
ask:
  %mask = alloca i1024, align 64
  %text = call ptr @getenv(ptr @variable)
  %is_set = icmp ne ptr %text, null
  br i1 %is_set, label %read, label %count
read:
  %number = call i32 @atoi(ptr %text)
  %is_good = icmp sgt i32 %number, 0
  br i1 %is_good, label %keep, label %count
count:
  store i1024 0, ptr %mask
  %size = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %bits = load i1024, ptr %mask
  %ones = call i1024 @llvm.ctpop.i1024(i1024 %bits)
  %cpus = trunc i1024 %ones to i32
  br label %keep
keep:
  %threads = phi i32 [ %number, %read ], [ %cpus, %count ]
  call void @relax_mlir_set_threads(i32 %threads)
  %result = load atomic i32, ptr @wanted monotonic, align 4
  ret i32 %result
}

; Call a region's function for every piece. With `is_joint` pieces wait for each other.
define void @relax_mlir_parallel(ptr %body, i32 %pieces, i1 %is_joint, ptr %values) {
entry:
  %alone = alloca %Member, align 16
  %self = alloca %Member, align 16
  %few = icmp sle i32 %pieces, 1
  %many = icmp sgt i32 %pieces, <MAX_THREADS>
  %serial = or i1 %few, %many
  br i1 %serial, label %in_order, label %start
start:
  call void @start_workers(i32 %pieces)
  br i1 %is_joint, label %join, label %take
join:
  %there = load atomic i32, ptr @workers seq_cst, align 4
  %with_caller = add i32 %there, 1
  %enough = icmp sge i32 %with_caller, %pieces
  br i1 %enough, label %lock, label %one
lock:
  %locked = cmpxchg ptr @barriers, i32 0, i32 1 seq_cst seq_cst
  %got_lock = extractvalue { i32, i1 } %locked, 1
  br i1 %got_lock, label %take, label %one
take:
  %number = phi i64 [ 0, %start ], [ 0, %lock ], [ %following, %next_job ]
  %job = getelementptr [<JOBS> x %Job], ptr @jobs, i64 0, i64 %number
  %taken = getelementptr %Job, ptr %job, i32 0, i32 4
  %try = cmpxchg ptr %taken, i32 0, i32 1 seq_cst seq_cst
  %got = extractvalue { i32, i1 } %try, 1
  br i1 %got, label %publish, label %next_job
next_job:
  %following = add i64 %number, 1
  %is_last = icmp eq i64 %following, <JOBS>
  br i1 %is_last, label %no_job, label %take
no_job:
  br i1 %is_joint, label %unlock_one, label %in_order
unlock_one:
  store atomic i32 0, ptr @barriers seq_cst, align 4
  br label %one
publish:
  %finished = getelementptr %Job, ptr %job, i32 0, i32 1
  %waiting = getelementptr %Job, ptr %job, i32 0, i32 2
  %function = getelementptr %Job, ptr %job, i32 0, i32 5
  %arguments = getelementptr %Job, ptr %job, i32 0, i32 6
  store atomic i32 0, ptr %finished seq_cst, align 4
  store atomic i32 0, ptr %waiting seq_cst, align 4
  store atomic ptr %body, ptr %function seq_cst, align 8
  store atomic ptr %values, ptr %arguments seq_cst, align 8
  %old = load atomic i64, ptr %job seq_cst, align 8
  %generation = lshr i64 %old, 40
  %newer = add i64 %generation, 1
  %high = shl i64 %newer, 40
  %wide = zext i32 %pieces to i64
  %middle = shl i64 %wide, 16
  %seated = or i64 %high, 4294967297
  %word = or i64 %seated, %middle
  store atomic i64 %word, ptr %job seq_cst, align 8
  %e = atomicrmw add ptr @epoch, i32 1 seq_cst
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any_asleep = icmp sgt i32 %asleep, 0
  br i1 %any_asleep, label %rouse, label %work
rouse:
  %m0 = call i32 @pthread_mutex_lock(ptr @mutex)
  %w0 = call i32 @pthread_cond_broadcast(ptr @wake)
  %m1 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %work
work:
  %job.slot = getelementptr %Member, ptr %self, i32 0, i32 4
  store ptr %job, ptr %job.slot
  %thread.slot = getelementptr %Member, ptr %self, i32 0, i32 2
  store i32 0, ptr %thread.slot
  %number.now = lshr i64 %word, 40
  call void @run_piece(ptr %job, ptr %body, ptr %values, ptr %self, i32 0, i32 %pieces)
  call void @claim_pieces(ptr %job, i64 %number.now, ptr %body, ptr %values, ptr %self)
  br label %wait
wait:
  %spins = phi i32 [ 0, %work ], [ %spins.next, %pause ], [ %spins, %yield ]
  %done = load atomic i32, ptr %finished seq_cst, align 4
  %all = icmp eq i32 %done, %pieces
  br i1 %all, label %end, label %still
still:
  %patient = icmp ult i32 %spins, <SPINS>
  br i1 %patient, label %pause, label %yield
pause:
  <PAUSE>
  %spins.next = add i32 %spins, 1
  br label %wait
yield:
  %y = call i32 @sched_yield()
  br label %wait
end:
  store atomic i32 0, ptr %taken seq_cst, align 4
  br i1 %is_joint, label %unlock, label %out
unlock:
  store atomic i32 0, ptr @barriers seq_cst, align 4
  br label %out
out:
  ret void
one:
  ; The pieces of a region with barriers are ranges of what one piece does.
  store %Member { i32 0, i32 1, i32 0, i32 0, ptr null }, ptr %alone
  call void %body(ptr %alone, ptr %alone, ptr %values)
  ret void
in_order:
  br i1 %is_joint, label %one, label %each
each:
  %i = phi i32 [ 0, %in_order ], [ %i.next, %each ]
  %i.next = add i32 %i, 1
  store %Member { i32 0, i32 1, i32 0, i32 0, ptr null }, ptr %alone
  %i.slot = getelementptr %Member, ptr %alone, i32 0, i32 0
  store i32 %i, ptr %i.slot
  %count.slot = getelementptr %Member, ptr %alone, i32 0, i32 1
  %total = call i32 @llvm.smax.i32(i32 %pieces, i32 1)
  store i32 %total, ptr %count.slot
  call void %body(ptr %alone, ptr %alone, ptr %values)
  %more = icmp slt i32 %i.next, %pieces
  br i1 %more, label %each, label %out
}

; Claim pieces of a job that the calling thread has joined until there are none. The job may be
; done, and its place taken by the next one, as soon as the thread has no piece of it.
define internal void @claim_pieces(ptr %job, i64 %generation, ptr %body, ptr %values, ptr %self) {
entry:
  br label %look
look:
  %word = load atomic i64, ptr %job seq_cst, align 8
  br label %try
try:
  %now = phi i64 [ %word, %look ], [ %seen, %swap ]
  %next = and i64 %now, 65535
  %shifted = lshr i64 %now, 16
  %count = and i64 %shifted, 65535
  %unclaimed = icmp ult i64 %next, %count
  %current = lshr i64 %now, 40
  %is_same = icmp eq i64 %current, %generation
  %left = and i1 %unclaimed, %is_same
  br i1 %left, label %swap, label %out
swap:
  %after = add i64 %now, 1
  %result = cmpxchg ptr %job, i64 %now, i64 %after seq_cst seq_cst
  %seen = extractvalue { i64, i1 } %result, 0
  %mine = extractvalue { i64, i1 } %result, 1
  br i1 %mine, label %run, label %try
run:
  %piece = trunc i64 %next to i32
  %pieces = trunc i64 %count to i32
  call void @run_piece(ptr %job, ptr %body, ptr %values, ptr %self, i32 %piece, i32 %pieces)
  br label %look
out:
  ret void
}

define internal void @run_piece(ptr %job, ptr %body, ptr %values, ptr %self, i32 %piece,
                                i32 %pieces) {
  store i32 %piece, ptr %self
  %count.slot = getelementptr %Member, ptr %self, i32 0, i32 1
  store i32 %pieces, ptr %count.slot
  call void %body(ptr %self, ptr %self, ptr %values)
  %finished = getelementptr %Job, ptr %job, i32 0, i32 1
  %before = atomicrmw add ptr %finished, i32 1 seq_cst
  ret void
}

; Wait for all pieces of a region with barriers.
define void @relax_mlir_barrier(ptr %self) {
entry:
  %job.slot = getelementptr %Member, ptr %self, i32 0, i32 4
  %job = load ptr, ptr %job.slot
  %is_alone = icmp eq ptr %job, null
  br i1 %is_alone, label %out, label %arrive
arrive:
  %count.slot = getelementptr %Member, ptr %self, i32 0, i32 1
  %count = load i32, ptr %count.slot
  %waiting = getelementptr %Job, ptr %job, i32 0, i32 2
  %passed = getelementptr %Job, ptr %job, i32 0, i32 3
  %phase = load atomic i32, ptr %passed seq_cst, align 4
  %before = atomicrmw add ptr %waiting, i32 1 seq_cst
  %arrived = add i32 %before, 1
  %is_last = icmp eq i32 %arrived, %count
  br i1 %is_last, label %open, label %wait
open:
  store atomic i32 0, ptr %waiting seq_cst, align 4
  %p = atomicrmw add ptr %passed, i32 1 seq_cst
  br label %out
wait:
  %spins = phi i32 [ 0, %arrive ], [ %spins.next, %pause ], [ %spins, %yield ]
  %now = load atomic i32, ptr %passed seq_cst, align 4
  %is_open = icmp ne i32 %now, %phase
  br i1 %is_open, label %out, label %still
still:
  %patient = icmp ult i32 %spins, <SPINS>
  br i1 %patient, label %pause, label %yield
pause:
  <PAUSE>
  %spins.next = add i32 %spins, 1
  br label %wait
yield:
  %y = call i32 @sched_yield()
  br label %wait
out:
  ret void
}

; See that there are workers for so many threads; after a fork there are none.
define internal void @start_workers(i32 %threads) {
entry:
  %thread = alloca ptr, align 8
  %here = call i32 @getpid()
  br label %check
check:
  %owner = load atomic i32, ptr @process seq_cst, align 4
  %is_ours = icmp eq i32 %owner, %here
  br i1 %is_ours, label %count, label %adopt
adopt:
  %is_busy = icmp eq i32 %owner, -1
  br i1 %is_busy, label %check, label %swap
swap:
  %result = cmpxchg ptr @process, i32 %owner, i32 -1 seq_cst seq_cst
  %won = extractvalue { i32, i1 } %result, 1
  br i1 %won, label %reset, label %check
reset:
  %size = mul i64 <JOBS>, 128
  call void @llvm.memset.p0.i64(ptr @jobs, i8 0, i64 %size, i1 false)
  store atomic i32 0, ptr @sleepers seq_cst, align 4
  store atomic i32 0, ptr @workers seq_cst, align 4
  store atomic i32 0, ptr @barriers seq_cst, align 4
  %i0 = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %i1 = call i32 @pthread_cond_init(ptr @wake, ptr null)
  store atomic i32 %here, ptr @process seq_cst, align 4
  br label %count
count:
  %there = load atomic i32, ptr @workers seq_cst, align 4
  %with_caller = add i32 %there, 1
  %enough = icmp sge i32 %with_caller, %threads
  br i1 %enough, label %out, label %lock
lock:
  %m0 = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %again
again:
  %now = load atomic i32, ptr @workers seq_cst, align 4
  %now.with = add i32 %now, 1
  %full = icmp sge i32 %now.with, %threads
  br i1 %full, label %unlock, label %create
create:
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr null)
  %is_bad = icmp ne i32 %failed, 0
  br i1 %is_bad, label %unlock, label %created
created:
  %id = load ptr, ptr %thread
  %d = call i32 @pthread_detach(ptr %id)
  %w = atomicrmw add ptr @workers, i32 1 seq_cst
  br label %again
unlock:
  %m1 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %out
out:
  ret void
}

define internal ptr @worker(ptr %unused) {
entry:
  %self = alloca %Member, align 16
  br label %scan
scan:
  %epoch = load atomic i32, ptr @epoch seq_cst, align 4
  br label %job
job:
  %number = phi i64 [ 0, %scan ], [ %following, %next ]
  %job.at = getelementptr [<JOBS> x %Job], ptr @jobs, i64 0, i64 %number
  br label %look
look:
  %now = load atomic i64, ptr %job.at seq_cst, align 8
  %piece.wide = and i64 %now, 65535
  %shifted = lshr i64 %now, 16
  %count.wide = and i64 %shifted, 65535
  %is_open = icmp ult i64 %piece.wide, %count.wide
  br i1 %is_open, label %seat, label %next
seat:
  %high = lshr i64 %now, 32
  %taken.wide = and i64 %high, 255
  %taken = trunc i64 %taken.wide to i32
  %body.at = getelementptr %Job, ptr %job.at, i32 0, i32 5
  %body = load atomic ptr, ptr %body.at seq_cst, align 8
  %values.at = getelementptr %Job, ptr %job.at, i32 0, i32 6
  %values = load atomic ptr, ptr %values.at seq_cst, align 8
  ; One thread more, and its first piece.
  %after = add i64 %now, 4294967297
  %result = cmpxchg ptr %job.at, i64 %now, i64 %after seq_cst seq_cst
  %won = extractvalue { i64, i1 } %result, 1
  br i1 %won, label %run, label %look
run:
  %thread.slot = getelementptr %Member, ptr %self, i32 0, i32 2
  store i32 %taken, ptr %thread.slot
  %job.slot = getelementptr %Member, ptr %self, i32 0, i32 4
  store ptr %job.at, ptr %job.slot
  %piece = trunc i64 %piece.wide to i32
  %count = trunc i64 %count.wide to i32
  call void @run_piece(ptr %job.at, ptr %body, ptr %values, ptr %self, i32 %piece, i32 %count)
  %generation = lshr i64 %now, 40
  call void @claim_pieces(ptr %job.at, i64 %generation, ptr %body, ptr %values, ptr %self)
  br label %scan
next:
  %following = add i64 %number, 1
  %is_last = icmp eq i64 %following, <JOBS>
  br i1 %is_last, label %idle, label %job
idle:
  %spins = phi i32 [ 0, %next ], [ %spins.next, %pause ]
  %latest = load atomic i32, ptr @epoch seq_cst, align 4
  %is_new = icmp ne i32 %latest, %epoch
  br i1 %is_new, label %scan, label %still
still:
  %patient = icmp ult i32 %spins, <SPINS>
  br i1 %patient, label %pause, label %sleep
pause:
  <PAUSE>
  %spins.next = add i32 %spins, 1
  br label %idle
sleep:
  %s0 = atomicrmw add ptr @sleepers, i32 1 seq_cst
  %m0 = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %check
check:
  %current = load atomic i32, ptr @epoch seq_cst, align 4
  %is_same = icmp eq i32 %current, %epoch
  br i1 %is_same, label %doze, label %awake
doze:
  %w0 = call i32 @pthread_cond_wait(ptr @wake, ptr @mutex)
  br label %check
awake:
  %m1 = call i32 @pthread_mutex_unlock(ptr @mutex)
  %s1 = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %scan
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
"""


def pool_source(architecture: str) -> str:
    """Return the pool as LLVM IR for an architecture, the first part of a triple."""
    architecture = {"amd64": "x86_64", "arm64": "aarch64"}.get(architecture, architecture)
    declare, pause = _PAUSES.get(architecture, ("", ""))
    values = {
        "JOBS": _JOBS, "SPINS": _SPINS, "MAX_THREADS": MAX_THREADS,
        "DECLARE_PAUSE": declare, "PAUSE": pause,
    }  # fmt: skip
    source = _SOURCE
    for name, value in values.items():
        source = source.replace(f"<{name}>", str(value))
    return source


@functools.cache
def pool_name(triple: str) -> str:
    """Return what files call the pool's object for a triple: another pool has another name."""
    return f"{POOL} {zlib.crc32(pool_source(triple.partition('-')[0]).encode()):08x}"


def keep_pool(triple: str, data: bytes) -> None:
    """Take an object file of the pool from a file of this version: no compiler is needed then."""
    _OBJECTS.setdefault(triple, data)


def pool_object(triple: str) -> bytes:
    """Return the pool as an object file whose functions only its library sees.

    Raises:
        RuntimeError: LLVM does not know the triple.
    """
    if triple not in _OBJECTS:
        import llvmlite.binding as llvm

        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        source = pool_source(triple.partition("-")[0])
        source = source.replace("define void @relax_", "define hidden void @relax_")
        source = source.replace("define i32 @relax_", "define hidden i32 @relax_")
        target = llvm.Target.from_triple(triple)
        machine = target.create_target_machine(reloc="pic", codemodel="default")
        _OBJECTS[triple] = machine.emit_object(llvm.parse_assembly(source))
    return _OBJECTS[triple]
