"""Splitting of large LLVM IR modules, for parallel optimisation and code generation."""

import re
from collections.abc import Collection, Mapping

# Characters of LLVM IR in a part, at least: LLVM takes some 100 ms for so many (BERT-base of any
# size, benchmarks/README.md). The number of parts depends on the program alone, so that every
# machine makes the same objects of it.
_MIN_PART = 1 << 17
_MAX_PARTS = 16
_NAME = r'@(?:"[^"]*"|[-\w.$]+)'
_FUNCTION = re.compile(
    rf"^define (?P<local>internal )?[^\n]*?(?P<name>{_NAME})\([^\n]*{{\n.*?^}}\n", re.M | re.S
)
_REFERENCE = re.compile(_NAME)
# Variables that functions share are to be there once.
_VARIABLE = re.compile(rf"^{_NAME} = (?!.*\b(?:constant|external)\b)", re.M)
_EXPORTED = ""


def split_source(source: str, kernels: Collection[str]) -> list[str]:
    """Return a module in parts that call each other, or the module alone if it is small.

    The first part has all exported functions. Local functions that are no kernel's, which are
    small, are in every part.

    Args:
        source: LLVM IR whose functions are optimised each by itself.
        kernels: local functions that may be apart from what calls them. A kernel's parallel regions
            go with it: they have its name, and more after two dots.
    """
    if len(source) < 2 * _MIN_PART or _VARIABLE.search(source):
        return [source]
    texts: dict[str, str] = {}
    group_of: dict[str, str] = {}
    for match in _FUNCTION.finditer(source):
        base = match["name"].strip('@"').partition("..")[0]
        if base in kernels or not match["local"]:
            texts[match["name"]] = match[0]
            group_of[match["name"]] = base if base in kernels else _EXPORTED
    sizes = {_EXPORTED: 0}
    for name, group in group_of.items():
        sizes[group] = sizes.get(group, 0) + len(texts[name])
    count = min(_MAX_PARTS, sum(sizes.values()) // _MIN_PART, len(sizes))
    if count < 2:
        return [source]
    bins = _balance(sizes, count)
    bins.sort(key=lambda groups: _EXPORTED not in groups)
    part_of = {name: i for name in texts for i in range(count) if group_of[name] in bins[i]}
    uses = {name: {*_REFERENCE.findall(text)} & texts.keys() for name, text in texts.items()}
    called: list[set[str]] = [set() for _ in bins]
    for name, part in part_of.items():
        called[part] |= {use for use in uses[name] if part_of[use] != part}
    published = set[str]().union(*called)
    shared = _FUNCTION.sub(lambda match: "" if match["name"] in texts else match[0], source)
    parts = []
    for part in range(count):
        own = [name for name in texts if part_of[name] == part]
        lines = [_published(texts[name]) if name in published else texts[name] for name in own]
        lines += [_declaration(texts[name]) for name in sorted(called[part])]
        parts.append(shared + "".join(lines))
    return parts


def _balance(sizes: Mapping[str, int], count: int) -> list[set[str]]:
    """Return what goes into each of some bins: the largest first, to where there is least."""
    bins: list[set[str]] = [set() for _ in range(count)]
    filled = [0] * count
    for name in sorted(sizes, key=lambda each: -sizes[each]):
        least = filled.index(min(filled))
        bins[least].add(name)
        filled[least] += sizes[name]
    return bins


def _published(text: str) -> str:
    """Return a function as the other parts of a library see it, and nobody else."""
    return text.replace("define internal ", "define hidden ", 1)


def _declaration(text: str) -> str:
    head = text[: text.index("{\n")]
    end = head.rindex(")") + 1
    groups = re.findall(r" #\d+", head[end:])
    return f"{_published(head[:end])}{''.join(groups)}\n".replace("define ", "declare ", 1)
