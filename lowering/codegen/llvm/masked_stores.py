"""Masked stores of one integer as plain stores: LLVM 22 writes too many bytes with AVX-512.

A truncation before a masked store becomes part of it, and the store of the only lane that a mask
has one of what was truncated: of an `int8` made of an `int32` three more bytes are written, which
are other elements' or lie beyond the buffer.
"""

import math
import re

# What an optimised module has to have been made from; a mask may be constant only in the end.
_STORE = r"@llvm\.masked\.store\.v\d+i(?:8|16|32)\."
_MAY_STORE = re.compile(_STORE)
_OFF = r"i1 (?:false|poison|undef)"
_SINGLE = re.compile(
    rf"^ *(?:tail )?call void {_STORE}\w+\((<\d+ x i(\d+)>) (%[\w.]+), "
    r"ptr (?:nonnull |noundef )*align (\d+) (%[\w.]+), "
    rf"<\d+ x i1> <((?:{_OFF}, )*)i1 true(?:, {_OFF})*>\).*$",
    re.MULTILINE,
)


def may_store_single(source: str) -> bool:
    """Whether LLVM IR has stores that could become such ones when it is optimised."""
    return " trunc " in source and _MAY_STORE.search(source) is not None


def store_single(text: str) -> str:
    """Return optimised LLVM IR where such stores are plain ones."""
    count = 0

    def plain(call: re.Match[str]) -> str:
        nonlocal count
        count += 1
        vector, bits, value, align, place, before = call.groups()
        lane = before.count(",")
        alignment = math.gcd(int(align), lane * int(bits) // 8)
        return (
            f"  %single.{count} = extractelement {vector} {value}, i64 {lane}\n"
            f"  %place.{count} = getelementptr i{bits}, ptr {place}, i64 {lane}\n"
            f"  store i{bits} %single.{count}, ptr %place.{count}, align {alignment}"
        )

    return _SINGLE.sub(plain, text)
