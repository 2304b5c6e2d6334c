"""The build cache: executables on disk, by a hash of the program and the options."""

import contextlib
import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

import relax_mlir.relax
from relax_mlir.compiler.working_copy import constants_of
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.relax.constants import RESOURCE, constant_array, resource_name
from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError
from relax_mlir.ir.module import IRModule
from relax_mlir.ir.shape_rules import has_op_attrs
from relax_mlir.lowering.codegen.compile_cache import CompileCache, add_sources, key_of
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector.describe import capture_warnings, warn
from relax_mlir.pass_infra import config
from relax_mlir.pass_infra.context import PassContext
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.files.serialize import dump

_SUFFIX = ".relaxexe"
# In a kept executable's metadata: the lines that its build reported.
_WARNINGS = "warnings"
# MLIR's text ends in the bytes of resources.
_RESOURCES = "\n{-#"
_PLAIN = (str, int, float, Path)


def build_once(
    mod: IRModule, target: Target, context: PassContext, build: Callable[[], Executable]
) -> Executable:
    """Return what `build` returns, from the cache on disk if it was built before.

    Args:
        mod: what is built.
        target: the machine to build for.
        context: its options are part of the key. The cache is not used if it requires or disables
            passes, or if operators have custom attributes.
        build: builds it; nothing but `mod`, `target` and the options of `context` may matter.
    """
    cache = CompileCache.find(context.option(config.COMPILE_CACHE))
    if cache is None or context.required_pass or context.disabled_pass or has_op_attrs():
        return build()
    key = _key(mod, target, context)
    if key is None:
        return build()
    result = _load(cache, f"{key}{_SUFFIX}")
    if result is not None:
        for line in result.metadata.pop(_WARNINGS):
            warn(line)
        return result
    with capture_warnings() as warnings:
        executable = build()
    if warnings is not None:
        with contextlib.suppress(ArgumentTypeError):  # a constant that no file can hold
            cache.write(f"{key}{_SUFFIX}", _file(executable, warnings))
    return executable


def _key(mod: IRModule, target: Target, context: PassContext) -> str | None:
    """Return the name of a build's entry, None where a build depends on what no text says."""
    options = _options(context.config)
    if options is None:
        return None
    with lock_of(mod.context):
        arrays = _resources(mod)
        if arrays is None:
            return None
        text = mod.mlir_module.operation.get_asm(
            assume_verified=True, enable_debug_info=True, large_resource_limit=0
        )
    # The same resource has another name in each module.
    numbers = {name: number for number, name in enumerate(arrays)}
    text = text.partition(_RESOURCES)[0]
    if not all(name in numbers for name in RESOURCE.findall(text)):
        return None
    text = RESOURCE.sub(lambda match: f"dense_resource<{numbers[match[1]]}>", text)
    settings = {
        **target.settings,
        "machine": [*target.cache_bytes, *target.dot_products],
        "level": context.opt_level,
        "options": options,
        "sources": _sources(),
        "sizes": [array.nbytes for array in arrays.values()],
    }
    return key_of(text, settings, arrays.values())


def _options(given: Mapping[str, Any]) -> dict[str, str] | None:
    """Return options as text, None if text cannot represent one of them."""
    options = {}
    for key, value in given.items():
        if key in (config.COMPILE_CACHE, config.PROGRESS):
            continue
        if is_dataclass(value) and not isinstance(value, type):
            fields = asdict(value)
            if not all(isinstance(each, _PLAIN) for each in fields.values()):
                return None
        elif not isinstance(value, _PLAIN):
            return None
        options[key] = repr(value)
    return options


def _resources(mod: IRModule) -> dict[str, np.ndarray] | None:
    """Return the arrays that constants are views of by their names, in the program's order."""
    result: dict[str, np.ndarray] = {}
    for op in constants_of(mod):
        value = op.attributes["value"]
        name = resource_name(value)
        if name is not None and name not in result:
            try:
                result[name] = np.ascontiguousarray(constant_array(value))
            except ValueError:
                return None
    return result


@functools.cache
def _sources() -> str:
    digest = hashlib.sha256()
    add_sources(digest, Path(str(relax_mlir.relax.__file__)).parent.parent)
    return digest.hexdigest()


def _file(executable: Executable, lines: list[str]) -> list[Any]:
    """Return the parts of a file that also has the report of kernels."""
    return dump(executable, metadata={**executable.metadata, _WARNINGS: lines})


def _load(cache: CompileCache, name: str) -> Executable | None:
    path = cache.find_file(name)
    if path is None:
        return None
    try:
        return Executable.load(path, verify=True)
    except ExecutableFormatError:
        cache.drop(path)
    except OSError:
        pass
    return None
