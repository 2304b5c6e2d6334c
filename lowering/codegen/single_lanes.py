"""Masked stores of one integer as plain stores: LLVM 22 writes too many bytes with AVX-512.

A truncation before a masked store becomes part of it, and the store of the only lane that a mask
has one of what was truncated: of an `int8` made of an `int32` three more bytes are written, which
are other elements' or lie beyond the buffer.
"""

import re

# What an optimised module has to have been made from; a mask may be constant only in the end.
_STORE = r"@llvm\.masked\.store\.v\d+i(?:8|16|32)\."
_MAY_STORE = re.compile(_STORE)
_SINGLE = re.compile(
    rf"^ *(?:tail )?call void {_STORE}\w+\((<\d+ x (i\d+)>) (%[\w.]+), "
    r"ptr (?:nonnull |noundef )*(align \d+) (%[\w.]+), "
    r"<\d+ x i1> <i1 true(?:, i1 (?:false|poison|undef))*>\).*$",
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
        vector, element, value, align, place = call.groups()
        return (
            f"  %single.{count} = extractelement {vector} {value}, i64 0\n"
            f"  store {element} %single.{count}, ptr {place}, {align}"
        )

    return _SINGLE.sub(plain, text)
