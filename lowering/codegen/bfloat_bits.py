"""bfloat16 in the text of LLVM IR, as the 16-bit integers it is moved as.

All arithmetic was widened before. LLVM legalises what only moves a `bfloat` by widening it and
rounding it back, on x86-64 with AVX-512 but without its bf16 instructions by calls of
`__truncsfbf2`, which few machines have. Integers of the same bits are moved as they are.
"""

import itertools
import re

_TYPE = re.compile(r'(?<![@%.\w"-])bfloat\b')
_NAME = re.compile(r"@llvm\.(?!x86\.)[\w.]*bf16[\w.]*")
_DECLARED = re.compile(r"^declare .*?(@llvm\.[\w.]*)", re.MULTILINE)
_OPERAND = re.compile(r"(<\d+ x bfloat>|bfloat) (%[\w.]+)")


def as_integers(text: str) -> str:
    """Return a module's LLVM IR without `bfloat`, except as operands of the target's intrinsics."""
    if "bfloat" not in text:
        return text
    numbers = itertools.count()
    lines: list[str] = []
    # A function of integers may have been declared too.
    declared: set[str] = set(_DECLARED.findall(text))
    for line in text.split("\n"):
        if "bfloat" not in line or line.startswith("@"):
            lines.append(line)
        elif "@llvm.x86." not in line:
            plain = _NAME.sub(lambda name: name[0].replace("bf16", "i16"), line)
            renamed = _DECLARED.match(plain) if plain != line else None
            if renamed is None or renamed[1] not in declared:
                lines.append(_TYPE.sub("i16", plain))
        elif line.startswith("declare"):
            lines.append(line)
        else:
            lines += _intrinsic(line, numbers)
    return "\n".join(lines)


def _intrinsic(line: str, numbers: "itertools.count[int]") -> list[str]:
    """Return the lines for a call whose operands have to be of `bfloat`."""
    casts: list[str] = []

    def cast(operand: re.Match[str]) -> str:
        type_, value = operand.groups()
        name = f"%bfloat.{next(numbers)}"
        casts.append(f"  {name} = bitcast {type_.replace('bfloat', 'i16')} {value} to {type_}")
        return f"{type_} {name}"

    called = _OPERAND.sub(cast, line)
    return [*casts, called]
