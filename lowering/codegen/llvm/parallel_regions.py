"""Parallel regions as calls of the thread pool: `omp.parallel` without an OpenMP runtime.

MLIR translates a region to a function and calls of LLVM's OpenMP runtime. Here they become calls of
`relax_mlir_parallel` (see `relax_mlir.runtime.native.thread_pool`), which runs the function once
for each piece of work. What the function asks the runtime for is read from its second argument. A
region whose condition does not hold is a plain call with one piece.
"""

import re

from relax_mlir.errors import CompileError

STAGE = "llvm"
_NAME = r'@(?:"[^"]*"|[^\s,()]+)'
_FORK = re.compile(
    r"  call void (?:\(ptr, i32, ptr, \.\.\.\) )?@__kmpc_fork_call(?:_if)?\(ptr @\S+, i32 [01], "
    rf"ptr (?P<body>{_NAME})(?:, i32 (?P<condition>[^\s,()]+))?(?:, ptr (?P<values>[^\s,()]+))?\)\n"
)
_PUSH = re.compile(
    r"  (?P<self>%\S+) = call i32 @__kmpc_global_thread_num\(ptr @\S+\)\n"
    r"  call void @__kmpc_push_num_threads\(ptr @\S+, i32 (?P=self), i32 (?P<threads>\S+)\)\n"
)
_MEMBER = re.compile(r"[^%]*%[^%]*(?P<member>%[^,\s]+)[,)]")
_CALLS = (
    (r"@(?:omp_get_thread_num|relax_mlir_piece)\(\)", r"@relax_piece(ptr {member})"),
    (r"@(?:omp_get_num_threads|relax_mlir_pieces)\(\)", r"@relax_pieces(ptr {member})"),
    (r"@relax_mlir_thread\(\)", r"@relax_thread(ptr {member})"),
    (r"@__kmpc_global_thread_num\(ptr @\S+\)", r"@relax_piece(ptr {member})"),
    (r"@__kmpc_barrier\(ptr @\S+, i32 \S+\)", r"@relax_barrier(ptr {member})"),
    (
        r"@__kmpc_for_static_init_8u\(ptr @\S+, i32 \S+, i32 34, (ptr \S+, ptr \S+, ptr \S+), "
        r"ptr \S+, i64 1, i64 0\)",
        r"@relax_share(ptr {member}, \1)",
    ),
    (r"@__kmpc_for_static_fini\(ptr @\S+, i32 \S+\)", r"@llvm.donothing()"),
)
_LEFT = re.compile(r"call [^@\n]*@(__kmpc_\w+|omp_\w+)\(")
_HELPERS = """
declare void @relax_mlir_parallel(ptr, i32, i1, ptr)
declare void @relax_mlir_barrier(ptr)
declare void @llvm.donothing()
define internal void @relax_fork(ptr %body, i32 %condition, i32 %given, i1 %joint, ptr %values) {
  %number = alloca i32
  %is_wanted = icmp ne i32 %condition, 0
  br i1 %is_wanted, label %many, label %one
many:
  %is_given = icmp ne i32 %given, 0
  br i1 %is_given, label %run, label %ask
ask:
  %most = call i32 @relax_mlir_max_threads()
  br label %run
run:
  %pieces = phi i32 [ %given, %many ], [ %most, %ask ]
  call void @relax_mlir_parallel(ptr %body, i32 %pieces, i1 %joint, ptr %values)
  ret void
one:
  store i32 0, ptr %number
  call void %body(ptr %number, ptr null, ptr %values)
  ret void
}
define internal i32 @relax_piece(ptr %member) {
  %number = call i32 @relax_field(ptr %member, i64 0, i32 0)
  ret i32 %number
}
define internal i32 @relax_pieces(ptr %member) {
  %number = call i32 @relax_field(ptr %member, i64 1, i32 1)
  ret i32 %number
}
define internal i32 @relax_thread(ptr %member) {
  %number = call i32 @relax_field(ptr %member, i64 2, i32 0)
  ret i32 %number
}
define internal i32 @relax_field(ptr %member, i64 %field, i32 %alone) {
  %is_alone = icmp eq ptr %member, null
  br i1 %is_alone, label %one, label %many
one:
  ret i32 %alone
many:
  %place = getelementptr i32, ptr %member, i64 %field
  %value = load i32, ptr %place
  ret i32 %value
}
define internal void @relax_barrier(ptr %member) {
  %is_alone = icmp eq ptr %member, null
  br i1 %is_alone, label %one, label %many
many:
  call void @relax_mlir_barrier(ptr %member)
  br label %one
one:
  ret void
}
define internal void @relax_share(ptr %member, ptr %last, ptr %low, ptr %high) {
  %first = load i64, ptr %low
  %final = load i64, ptr %high
  %distance = sub i64 %final, %first
  %trips = add i64 %distance, 1
  %piece.32 = call i32 @relax_piece(ptr %member)
  %pieces.32 = call i32 @relax_pieces(ptr %member)
  %piece = zext i32 %piece.32 to i64
  %pieces = zext i32 %pieces.32 to i64
  %each = udiv i64 %trips, %pieces
  %rest = urem i64 %trips, %pieces
  %has_more = icmp ult i64 %piece, %rest
  %before = select i1 %has_more, i64 %piece, i64 %rest
  %one_more = zext i1 %has_more to i64
  %product = mul i64 %each, %piece
  %offset = add i64 %product, %before
  %start = add i64 %first, %offset
  %length = add i64 %each, %one_more
  %end = add i64 %start, %length
  %inclusive = sub i64 %end, 1
  store i64 %start, ptr %low
  store i64 %inclusive, ptr %high
  ret void
}
"""


def call_thread_pool(source: str) -> str:
    """Return LLVM IR, as MLIR prints it, whose parallel regions call the thread pool.

    Raises:
        CompileError: a construct of OpenMP other than parallel regions, barriers and loops with a
            static schedule.
    """
    if "@__kmpc_" not in source:
        return source
    bodies: list[str] = []
    parts: list[str] = []
    at = 0
    for fork in _FORK.finditer(source):
        between = source[at : fork.start()]
        pushes = list(_PUSH.finditer(between))
        threads = "0"
        if pushes and "\n}\n" not in between[pushes[-1].end() :]:
            threads = pushes[-1]["threads"]
            between = between[: pushes[-1].start()] + between[pushes[-1].end() :]
        body = fork["body"]
        joint = "true" if "@__kmpc_barrier(" in _function(source, body) else "false"
        parts += [
            between,
            f"  call void @relax_fork(ptr {body}, i32 {fork['condition'] or 1}, i32 {threads}, "
            f"i1 {joint}, ptr {fork['values'] or 'null'})\n",
        ]
        bodies.append(body)
        at = fork.end()
    source = "".join([*parts, source[at:]])
    for body in bodies:
        text = _function(source, body)
        member = _MEMBER.match(text)
        assert member is not None  # a region's function has at least two parameters
        known = text
        for call, with_member in _CALLS:
            known = re.sub(call, with_member.format(member=member["member"]), known)
        source = source.replace(text, known)
    if left := _LEFT.search(source):
        raise CompileError(
            STAGE,
            f"a construct of OpenMP calls '{left[1]}'; supported are parallel regions, barriers "
            "and worksharing loops with the default schedule (run the rest with --num-threads=1)",
        )
    declared = "" if "@relax_mlir_max_threads()" in source else _DECLARED
    return source + _HELPERS + declared


_DECLARED = "declare i32 @relax_mlir_max_threads()\n"


def _function(source: str, name: str) -> str:
    start = source.index(f"define internal void {name}(")
    return source[start : source.index("\n}\n", start)]
