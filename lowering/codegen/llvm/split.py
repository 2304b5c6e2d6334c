"""Large modules of LLVM IR in parts, which are optimised, emitted and kept apart.

A large kernel is a part of its own, with what it needs of the module, numbered in the order in
which it is needed: equal kernels of two programs are the same text.
"""

import re
from collections.abc import Collection, Iterable, Mapping

# Characters of LLVM IR from which on a module is cut, and a kernel is a part. The parts depend on
# the program alone, so that every machine makes the same objects of it.
_MIN_MODULE = 1 << 18
_MIN_PART = 1 << 14
_NAME = r'@(?:"[^"]*"|[-\w.$]+)'
_FUNCTION = re.compile(
    rf"^define (?P<local>internal )?[^\n]*?(?P<name>{_NAME})\([^\n]*{{\n.*?^}}\n", re.M | re.S
)
_REFERENCE = re.compile(_NAME)
# Variables that functions share are to be there once.
_VARIABLE = re.compile(rf"^{_NAME} = (?!.*\b(?:constant|external)\b)", re.M)
# What there is beside functions: constants, declarations, attributes and metadata, by their names.
_LINE = re.compile(rf"^(?:declare [^\n]*?)?(?P<name>{_NAME}|!\d+)(?: = |\()[^\n]*\n", re.M)
_ATTRIBUTES = re.compile(r"^attributes (?P<name>#\d+) = [^\n]*\n", re.M)
_NEEDED = re.compile(rf"{_NAME}|(?<=[ {{])[#!]\d+\b")
_NUMBER = re.compile(r"(@relax_float_bits_|\.\.omp_par\.|(?<=[ {])[#!]|^!)(\d+)\b", re.M)
# What every part has.
_FLAGS = ("!llvm.", "target ")
_EXPORTED = ""


def split_source(source: str, kernels: Collection[str]) -> list[str]:
    """Return a module in parts that call each other, or the module alone if it is small.

    The first part has all exported functions and small kernels, the others follow by size, the
    largest first. Local functions that are no kernel's, which are small, are in every part that
    calls them.

    Args:
        source: LLVM IR whose functions are optimised each by itself.
        kernels: local functions that may be apart from what calls them. A kernel's parallel regions
            go with it: they have its name, and more after two dots.
    """
    if len(source) < _MIN_MODULE or _VARIABLE.search(source):
        return [source]
    texts: dict[str, str] = {}
    shared: dict[str, str] = {}
    groups: dict[str, list[str]] = {_EXPORTED: []}
    for match in _FUNCTION.finditer(source):
        base = match["name"].strip('@"').partition("..")[0]
        if base in kernels or not match["local"]:
            texts[match["name"]] = match[0]
            groups.setdefault(base if base in kernels else _EXPORTED, []).append(match["name"])
        else:
            shared[match["name"]] = match[0]
    sizes = {base: sum(len(texts[name]) for name in names) for base, names in groups.items()}
    for base in [each for each in groups if each and sizes[each] < _MIN_PART]:
        groups[_EXPORTED] += groups.pop(base)
    if len(groups) == 1:
        return [source]
    rest = _FUNCTION.sub("", source)
    shared |= {
        each["name"]: each[0] for form in (_LINE, _ATTRIBUTES) for each in form.finditer(rest)
    }
    head = source[: source.index("\n") + 1]
    part_of = {name: base for base, names in groups.items() for name in names}
    uses = {
        name: [use for use in dict.fromkeys(_REFERENCE.findall(text)) if use in texts]
        for name, text in texts.items()
    }
    published = {use for name in texts for use in uses[name] if part_of[use] != part_of[name]}
    flags = [each for each in rest.splitlines(keepends=True) if each.startswith(_FLAGS)]
    parts = []
    for base in sorted(groups, key=lambda each: (each != _EXPORTED, -sizes[each])):
        own = groups[base]
        lines = [_published(texts[name]) if name in published else texts[name] for name in own]
        called = dict.fromkeys(use for name in own for use in uses[name])
        lines += [_declaration(texts[use]) for use in called if part_of[use] != base]
        lines += flags
        parts.append(head + _renumbered("".join([*lines, *_closure(lines, shared)])))
    return parts


def _closure(lines: Iterable[str], shared: Mapping[str, str]) -> list[str]:
    """Return what lines need of what is shared, in the order in which they do."""
    waiting, needed = [*lines], dict[str, str]()
    for line in waiting:
        for name in _NEEDED.findall(line):
            if name in shared and name not in needed:
                needed[name] = shared[name]
                waiting.append(shared[name])
    return [*needed.values()]


def _renumbered(text: str) -> str:
    """Return a part whose numbers do not depend on what else there was in the module."""
    numbers: dict[str, dict[str, str]] = {}

    def number(match: re.Match[str]) -> str:
        kind, given = match.groups()
        known = numbers.setdefault(kind, {})
        return f"{kind}{known.setdefault(given, str(len(known)))}"

    return _NUMBER.sub(number, text)


def _published(text: str) -> str:
    """Return a function as the other parts of a library see it, and nobody else."""
    return text.replace("define internal ", "define hidden ", 1)


def _declaration(text: str) -> str:
    head = text[: text.index("{\n")]
    end = head.rindex(")") + 1
    groups = re.findall(r" #\d+", head[end:])
    return f"{_published(head[:end])}{''.join(groups)}\n".replace("define ", "declare ", 1)
