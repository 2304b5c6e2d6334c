"""Arguments of relax-run: from files, random, or written out."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, did_you_mean
from relax_mlir.runtime.values.convert import numpy_dtype
from relax_mlir.runtime.vm.signature import Parameter
from relax_mlir.tools.common.flags import UsageError

_MADE = ("random", "zeros", "ones")
_PLAIN = {"int": int, "float": float, "str": str}
_MAX_BYTES = 1 << 36
_NAME = re.compile(r"[A-Za-z_]\w*")


class Inputs:
    """Makes the arguments of a function.

    Args:
        given: the texts of `--input`.
        dims: the texts of `--dim`.
        seed: where random numbers begin.

    Raises:
        UsageError: a text is wrong.
    """

    def __init__(self, given: Sequence[str], dims: Sequence[str], seed: int) -> None:
        self._given = list(given)
        self._dims = dict(_size(text) for text in dims)
        self._random = np.random.default_rng(seed)

    def arguments(self, function: str, params: Sequence[Parameter]) -> list[Any]:
        """Return a function's arguments in order.

        Raises:
            UsageError: one is wrong, or missing and of no known shape.
        """
        texts = self._by_name(function, [p.name for p in params])
        self._check_dims(function, params)
        return [self._make(p, texts.get(p.name)) for p in params]

    def _check_dims(self, function: str, params: Sequence[Parameter]) -> None:
        texts = [dim for p in params for dim in _dims_of(p.declared)]
        names = list(dict.fromkeys(n for text in texts for n in _NAME.findall(text)))
        for name in self._dims if texts else ():
            if name not in names:
                hint = did_you_mean(name, names) or f" (it has: {', '.join(names) or 'none'})"
                raise UsageError(f"'{function}' has no symbolic dimension '{name}'{hint}")

    def positional(self) -> list[Any]:
        """Return the arguments of a function that nothing is known about.

        Raises:
            UsageError: one is wrong, or has no shape.
        """
        params = [Parameter(f"#{i}") for i in range(len(self._given))]
        return [self._make(p, t) for p, t in zip(params, self._given, strict=True)]

    def _by_name(self, function: str, names: Sequence[str]) -> dict[str, str]:
        result: dict[str, str] = {}
        following = 0
        for text in self._given:
            name, equals, what = text.partition("=")
            if not equals or (name not in names and not _NAME.fullmatch(name)):
                if following >= len(names):
                    raise UsageError(
                        f"'{function}' takes {len(names)} arguments: {', '.join(names) or 'none'}"
                    )
                name, what = names[following], text
            if name not in names:
                hint = did_you_mean(name, names) or f" (it has: {', '.join(names) or 'none'})"
                raise UsageError(f"'{function}' has no parameter '{name}'{hint}")
            if name in result:
                raise UsageError(f"'--input' gives '{name}' twice")
            result[name] = what
            following = max(following, list(names).index(name) + 1)
        return result

    def _make(self, param: Parameter, text: str | None) -> Any:
        try:
            return self._value(param, "random" if text is None else text)
        except UsageError as error:
            raise UsageError(f"argument '{param.name}': {error}") from None

    def _value(self, param: Parameter, text: str) -> Any:
        kind, _, rest = text.partition(":")
        if kind in _MADE:
            return self._made(kind, rest, param)
        if kind == "shape":
            return _shape(rest)
        if kind in _PLAIN:
            try:
                return _PLAIN[kind](rest)
            except ValueError:
                raise UsageError(f"'{rest}' is no {kind}") from None
        return _read(text)

    def _made(self, kind: str, rest: str, param: Parameter) -> np.ndarray:
        shape, colon, dtype = rest.partition(":")
        if shape.isidentifier() and not colon:
            shape, dtype = "", shape
        sizes = _shape(shape) if shape else self._known_shape(param)
        try:
            wanted = numpy_dtype(dtype or param.dtype or "float32")
        except ArgumentTypeError as error:
            raise UsageError(str(error)) from None
        if math.prod(sizes) * wanted.itemsize > _MAX_BYTES:
            raise UsageError(f"a tensor of shape {sizes} is too large")
        if kind != "random":
            return getattr(np, kind)(sizes, wanted)
        if wanted.kind == "b":
            return self._random.integers(0, 2, sizes).astype(wanted)
        if wanted.kind in "iu":
            return self._random.integers(0, 10, sizes).astype(wanted)
        return self._random.uniform(-1, 1, sizes).astype(wanted)

    def _known_shape(self, param: Parameter) -> tuple[int, ...]:
        declared = f", declared {param.declared}" if param.declared else ""
        if param.dims is None:
            raise UsageError(f"its shape is not known{declared}: give it, as random:4x5")
        names = _dims_of(param.declared)
        sizes = []
        for i, size in enumerate(param.dims):
            name = names[i] if len(names) == len(param.dims) else ""
            if size < 0 and name not in self._dims:
                want = f"--dim={name}=4 or " if _NAME.fullmatch(name) else ""
                raise UsageError(f"its shape is not static{declared}: say {want}random:4x5")
            sizes.append(self._dims[name] if size < 0 else size)
        return tuple(sizes)


def _dims_of(declared: str) -> list[str]:
    """Return the dimensions of a declared type `R.Tensor((n, 64), "float32")` as texts."""
    result = re.match(r"R\.Tensor\(\(([^()]*)\)", declared)
    return (
        [part.strip().strip('"') for part in result[1].split(",") if part.strip()] if result else []
    )


# How files of numpy.save and numpy.savez begin.
_NPY = b"\x93NUMPY"
_ZIP = b"PK"


def _size(text: str) -> tuple[str, int]:
    name, equals, size = text.partition("=")
    if not equals or not size.isdigit():
        raise UsageError(f"flag '--dim' wants name=size, got '{text}'")
    return name, int(size)


def _shape(text: str) -> tuple[int, ...]:
    parts = re.split("[x,]", text) if text else []
    if not all(part.isdigit() for part in parts):
        raise UsageError(f"'{text}' is no shape, which is written 4x5")
    return tuple(int(part) for part in parts)


def _read(text: str) -> Any:
    path, colon, key = text.rpartition(":")
    if not colon or not path.endswith(".npz"):
        path, key = text, ""
    if not path.endswith((".npy", ".npz")):
        kinds = ", ".join([*_MADE, "shape", *_PLAIN])
        raise UsageError(f"'{text}' is neither a .npy or .npz file nor one of {kinds}")
    if not Path(path).is_file():
        raise UsageError(f"there is no file '{path}'")
    with Path(path).open("rb") as file:
        start = file.read(len(_NPY))
    if not start.startswith((_NPY, _ZIP)):
        raise UsageError(f"'{path}' is no {Path(path).suffix} file: numpy.save writes them")
    try:
        result = np.load(path, allow_pickle=False)
        if isinstance(result, np.ndarray):
            return result
        return _member(result, path, key)
    except UsageError:
        raise
    # A damaged header is a syntax error, a tokenizer's, one of struct's, of zipfile's, ...
    except Exception as error:
        raise UsageError(f"cannot read '{path}': {error}") from None


def _member(archive: Mapping[str, np.ndarray], path: str, key: str) -> np.ndarray:
    names = list(archive)
    if not key and len(names) == 1:
        key = names[0]
    if key not in names:
        raise UsageError(f"'{path}' has {', '.join(names) or 'nothing'}: say {path}:key")
    return archive[key]
