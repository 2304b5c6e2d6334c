"""Parallel regions whose work is too little for several threads, without OpenMP's runtime.

`omp.parallel` with a condition becomes calls of the runtime that set up a team of one thread where
the condition does not hold: 170 ns on a Zen 4, a third of what calling a small kernel takes. Here
the region's function is called as it is then. What it would ask the runtime for is known: its
number is 0, of one thread, and nobody is to be waited for.
"""

import re

_PUSH = "  call void @__kmpc_push_num_threads("
_FORK = "  call void @__kmpc_fork_call_if("
_SELF = re.compile(r"  (?P<number>%\S+) = call i32 @__kmpc_global_thread_num\(ptr @\S+\)\n")
_THREAD_COUNT = re.compile(r".*, i32 (?P<number>%\S+), i32 (?P<most>\S+)\)\n")
_REGION = re.compile(
    r".*\(ptr (?P<where>@\S+), i32 1, ptr (?P<body>@\S+), i32 (?P<wanted>%\S+), "
    r"ptr (?P<values>%\S+)\)\n"
)
# The second parameter of a region's function, which the runtime gives an address.
_MARK = re.compile(r"[^%]*%[^%]*(?P<mark>%[^,\s]+),")
_ASKS = (
    ("call i32 @omp_get_thread_num()", "call i32 @relax_thread_number(ptr {mark})"),
    ("call i32 @omp_get_num_threads()", "call i32 @relax_thread_count(ptr {mark})"),
    ("call void @__kmpc_barrier(", "call void @relax_barrier(ptr {mark}, "),
)
_CALLED = """
define internal void @relax_fork(ptr %where, ptr %body, i32 %wanted, i32 %most, ptr %values) {
  %number = alloca i32
  %is_wanted = icmp ne i32 %wanted, 0
  br i1 %is_wanted, label %many, label %one
many:
  %self = call i32 @__kmpc_global_thread_num(ptr %where)
  call void @__kmpc_push_num_threads(ptr %where, i32 %self, i32 %most)
  call void @__kmpc_fork_call_if(ptr %where, i32 1, ptr %body, i32 1, ptr %values)
  ret void
one:
  store i32 0, ptr %number
  call void %body(ptr %number, ptr null, ptr %values)
  ret void
}
"""
_ASKED = """
define internal i32 @relax_thread_number(ptr %mark) {
  %alone = icmp eq ptr %mark, null
  br i1 %alone, label %one, label %many
one:
  ret i32 0
many:
  %number = call i32 @omp_get_thread_num()
  ret i32 %number
}
define internal i32 @relax_thread_count(ptr %mark) {
  %alone = icmp eq ptr %mark, null
  br i1 %alone, label %one, label %many
one:
  ret i32 1
many:
  %count = call i32 @omp_get_num_threads()
  ret i32 %count
}
"""
_WAITED = """
define internal void @relax_barrier(ptr %mark, ptr %where, i32 %number) {
  %alone = icmp eq ptr %mark, null
  br i1 %alone, label %one, label %many
one:
  ret void
many:
  call void @__kmpc_barrier(ptr %where, i32 %number)
  ret void
}
"""


def call_small_regions(source: str) -> str:
    """Return LLVM IR in which regions for one thread do without the runtime.

    Args:
        source: LLVM IR as MLIR prints it. Regions of another form stay as they are.
    """
    if _FORK not in source:
        return source
    source, bodies = _call(source)
    for body in bodies:
        start = source.index(f"define internal void {body}(")
        end = source.index("\n}\n", start)
        text, mark = source[start:end], _MARK.match(source, start)
        assert mark is not None  # a region's function has three parameters
        for ask, known in _ASKS:
            text = text.replace(ask, known.format(mark=mark["mark"]))
        source = source[:start] + text + source[end:]
    if bodies:
        source += _CALLED
    if "@relax_thread_" in source:
        source += _ASKED
    if "@relax_barrier(" in source:
        source += _WAITED
    return source


def _call(source: str) -> tuple[str, list[str]]:
    """Replace the calls of the runtime; return the functions of the regions, too."""
    bodies: list[str] = []
    done: list[str] = []
    at = 0
    while (push := source.find(_PUSH, at)) >= 0:
        fork = source.find(_FORK, push)
        before = source.rfind("\n", 0, push - 1) + 1
        own, most = _SELF.match(source, before), _THREAD_COUNT.match(source, push)
        region = _REGION.match(source, fork) if fork >= 0 else None
        if own is None or most is None or region is None or own["number"] != most["number"]:
            break
        between = source[most.end() : fork]
        if "\n}\n" in between or own["number"] in between:
            break
        done += [source[at:before], between]
        done.append(
            f"  call void @relax_fork(ptr {region['where']}, ptr {region['body']}, "
            f"i32 {region['wanted']}, i32 {most['most']}, ptr {region['values']})\n"
        )
        bodies.append(region["body"])
        at = region.end()
    return "".join([*done, source[at:]]), bodies
