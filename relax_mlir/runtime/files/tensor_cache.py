"""Folders of weights as MLC and TVM's web runtime keep them: `tensor-cache.json` and shards."""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.atomic_file import write_file
from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError
from relax_mlir.runtime.device.placement import copy_to
from relax_mlir.runtime.files.access import map_file
from relax_mlir.runtime.values.convert import BFLOAT16, describe, numpy_dtype, to_value
from relax_mlir.runtime.values.ndarray import Tensor

INDEX = "tensor-cache.json"
_HALVED = "f32-to-bf16"
FORMATS = ("raw", _HALVED)


def dump_tensor_cache(
    params: Mapping[str, Any] | Iterable[tuple[str, Any]],
    cache_dir: str | os.PathLike[str],
    encode_format: str = _HALVED,
    meta_data: Any = None,
    shard_cap_mb: float = 32,
    show_progress: bool = True,
    update_if_exists: bool = False,
) -> None:
    """Write arrays to a folder (TVM's `contrib.tvmjs.dump_tensor_cache`).

    Args:
        params: arrays by name, or pairs; they are read one after another.
        cache_dir: the folder, made where it is not there.
        encode_format: `raw`, or `f32-to-bf16`, which keeps float32 as bfloat16; values beyond its
            largest become that.
        meta_data: goes into the index: what JSON has, or a function that returns it.
        shard_cap_mb: how large a shard becomes, in MiB; a larger array has one of its own.
        show_progress: prints the names.
        update_if_exists: keep what the folder has under other names; an array that it has under
            the same name must be as large.

    Raises:
        ArgumentTypeError: a format that does not exist, no tensor, or one of another size.
        ExecutableFormatError: the index that is there is malformed.
        OSError: a file cannot be written.
    """
    if encode_format not in FORMATS:
        raise ArgumentTypeError(
            f"dump_tensor_cache: the format is one of {', '.join(FORMATS)}, got {encode_format!r}"
        )
    folder = Path(cache_dir)
    folder.mkdir(parents=True, exist_ok=True)
    index: dict[str, Any] = {"metadata": {}, "records": []}
    if update_if_exists and (folder / INDEX).exists():
        index = _read_index(folder / INDEX)
    if meta_data is not None:
        index["metadata"] = meta_data() if callable(meta_data) else meta_data
    shards = index["records"]
    known = {rec["name"]: (shard, rec) for shard in shards for rec in shard["records"]}
    records: list[dict[str, Any]] = []
    pending = bytearray()

    def commit() -> None:
        if records:
            path = f"params_shard_{len(shards)}.bin"
            write_file(folder / path, [pending])
            shards.append({
                "dataPath": path, "format": "raw-shard", "nbytes": len(pending),
                "records": records[:], "md5sum": _md5(pending),
            })  # fmt: skip
            records.clear()
            pending.clear()

    for name, given in params.items() if isinstance(params, Mapping) else params:
        array = to_value(given)
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(f"'{name}' must be a tensor, got {describe(given)}")
        if show_progress:
            print(f"saving {name}")
        halved = encode_format == _HALVED and array.dtype == np.float32
        kept = _convert_f32_to_bf16(array) if halved else array
        data = kept.astype(kept.dtype.newbyteorder("<"), copy=False).tobytes()
        record = {
            "name": name, "shape": list(array.shape), "dtype": array.dtype.name,
            "format": encode_format, "nbytes": len(data), "byteOffset": len(pending),
        }  # fmt: skip
        if name in known:
            _replace(folder, *known[name], record, data)
            continue
        if pending and len(pending) + len(data) > shard_cap_mb * 2**20:
            commit()
            record["byteOffset"] = 0
        records.append(record)
        pending += data
    commit()
    write_file(folder / INDEX, [json.dumps(index, indent=2).encode()])


def load_tensor_cache(
    cachepath: str | os.PathLike[str], device: Any = "cpu"
) -> tuple[dict[str, Tensor], Any]:
    """Return the arrays of a folder by name, and its metadata.

    Args:
        cachepath: the folder, or its index.
        device: where to put the arrays.

    Raises:
        ExecutableFormatError: the index is malformed, or does not fit the shards.
        OSError: a file cannot be read.
        DeviceError: no such device.
    """
    path = Path(cachepath)
    path = path if path.suffix == ".json" else path / INDEX
    index = _read_index(path)
    result: dict[str, Tensor] = {}
    for shard in index["records"]:
        file = path.parent / shard["dataPath"]
        data = map_file(file)
        for record in shard["records"]:
            array = _array(file, data, record)
            result[record["name"]] = copy_to(array, device).view(Tensor)
    return result, index.get("metadata")


def _array(file: Path, data: np.ndarray, record: Mapping[str, Any]) -> np.ndarray:
    name, shape, dtype = record["name"], record["shape"], record["dtype"]
    halved = record["format"] == _HALVED and dtype == "float32"
    kind = numpy_dtype(BFLOAT16 if halved else dtype)
    begin, size = record["byteOffset"], record["nbytes"]
    fits = 0 <= begin <= begin + size <= len(data)
    if not fits or size != math.prod(shape) * kind.itemsize:
        raise ExecutableFormatError(
            f"'{file}': '{name}' of {dtype} and shape {shape} cannot be the {size} bytes from byte "
            f"{begin} on of {len(data)}"
        )
    array = data[begin : begin + size].view(kind).reshape(shape)
    return _convert_bf16_to_f32(array) if halved else array


def _read_index(path: Path) -> dict[str, Any]:
    """Return an index whose entries have the fields that are read, of their types."""
    try:
        index = json.loads(path.read_bytes())
        for shard in index["records"]:
            if Path(shard["dataPath"]).name != shard["dataPath"]:
                raise ValueError(f"the shard {shard['dataPath']!r} is not in the folder")
            for record in shard["records"]:
                numbers = [*record["shape"], record["byteOffset"], record["nbytes"]]
                texts = [record[key] for key in ("name", "dtype", "format")]
                if not all(type(n) is int for n in numbers) or not all(
                    type(text) is str for text in texts
                ):
                    raise ValueError(f"the entry of {texts[0]!r} is wrong")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ExecutableFormatError(f"'{path}' is no index of a tensor cache: {error}") from error
    return index


def _replace(
    folder: Path, shard: dict[str, Any], old: dict[str, Any], record: dict[str, Any], data: bytes
) -> None:
    if old["nbytes"] != len(data):
        raise ArgumentTypeError(
            f"'{old['name']}' has {old['nbytes']} bytes in the folder and would have {len(data)}; "
            "write the folder anew"
        )
    file = folder / shard["dataPath"]
    whole, begin = bytearray(file.read_bytes()), old["byteOffset"]
    whole[begin : begin + len(data)] = data
    write_file(file, [whole])
    shard["md5sum"] = _md5(whole)
    old.update({**record, "byteOffset": begin})


def _md5(data: bytearray) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _convert_f32_to_bf16(value: np.ndarray) -> np.ndarray:
    dtype = numpy_dtype(BFLOAT16)
    limit = np.array(0x7F7F, np.uint16).view(dtype).astype(np.float32)
    finite = np.where(np.isfinite(value), np.clip(value, -limit, limit), value)
    return finite.astype(dtype)


def _convert_bf16_to_f32(value: np.ndarray) -> np.ndarray:
    return value.view(numpy_dtype(BFLOAT16)).astype(np.float32)
