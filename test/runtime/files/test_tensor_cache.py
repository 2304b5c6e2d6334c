"""Folders of weights in the format of TVM's `contrib.tvmjs`, and the cache that programs read."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_mlir as tvm
from relax_mlir.contrib import tvmjs
from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError

RNG = np.random.default_rng(0)
PARAMS = {
    "w_0": RNG.standard_normal((3, 5)).astype("float32"),
    "w_1": np.array([1, -2, 3], "int8"),
    "w_2": np.zeros((0, 4), "float32"),
    "other": np.array(7, "int64"),
    "w_3": np.array([np.inf, np.nan, 3.4e38, -3.4e38, 1e-30], "float32"),
}
# bfloat16 has no more than this.
HALVED = {"w_3": [np.inf, np.nan, 3.3895314e38, -3.3895314e38, 1e-30]}


@pytest.mark.parametrize("cap", [32, 1e-5])
@pytest.mark.parametrize("encode_format", ["raw", "f32-to-bf16"])
def test_arrays_come_back(tmp_path: Path, encode_format: str, cap: float) -> None:
    tvmjs.dump_tensor_cache(
        iter(PARAMS.items()), tmp_path, encode_format, lambda: {"kind": "model"}, cap, False
    )
    arrays, metadata = tvmjs.load_tensor_cache(tmp_path)
    assert (metadata, list(arrays)) == ({"kind": "model"}, list(PARAMS))
    for name, expected in PARAMS.items():
        got = arrays[name]
        assert (type(got), got.dtype, got.shape) == (
            tvm.runtime.Tensor, expected.dtype, expected.shape
        )  # fmt: skip
        if encode_format == "raw" or expected.dtype != "float32":
            np.testing.assert_array_equal(got, expected)
        else:
            np.testing.assert_allclose(got, HALVED.get(name, expected), rtol=4e-3)
    shards = json.loads((tmp_path / "tensor-cache.json").read_text())["records"]
    assert len(shards) == (1 if cap == 32 else 4)
    for shard in shards:
        data = (tmp_path / shard["dataPath"]).read_bytes()
        assert hashlib.md5(data).hexdigest() == shard["md5sum"]
        assert len(data) == shard["nbytes"] == sum(each["nbytes"] for each in shard["records"])


def test_a_folder_is_updated(tmp_path: Path) -> None:
    tvmjs.dump_tensor_cache(PARAMS, tmp_path, meta_data=[1], show_progress=False)
    new = {"w_0": PARAMS["w_0"] + 1, "w_4": np.ones(3)}
    tvmjs.dump_tensor_cache(new, tmp_path, show_progress=False, update_if_exists=True)
    arrays, metadata = tvmjs.load_tensor_cache(tmp_path / "tensor-cache.json")
    assert (metadata, list(arrays)) == ([1], [*PARAMS, "w_4"])
    np.testing.assert_allclose(arrays["w_0"], new["w_0"], rtol=4e-3)
    np.testing.assert_array_equal(arrays["w_4"], np.ones(3))
    for shard in json.loads((tmp_path / "tensor-cache.json").read_text())["records"]:
        data = (tmp_path / shard["dataPath"]).read_bytes()
        assert hashlib.md5(data).hexdigest() == shard["md5sum"]
    with pytest.raises(ArgumentTypeError, match="has 30 bytes in the folder and would have 8"):
        tvmjs.dump_tensor_cache({"w_0": np.ones(4, "float32")}, tmp_path, update_if_exists=True)


def test_the_cache_of_the_virtual_machine(tmp_path: Path) -> None:
    def call(name: str, *args: Any) -> Any:
        return tvm.get_global_func(f"vm.builtin.{name}")(*args)

    tvmjs.dump_tensor_cache(PARAMS, tmp_path, "raw", show_progress=False)
    call("tensor_cache.clear")
    call("tensor_cache.load", str(tmp_path), tvm.cpu().dlpack_device_type(), 0)
    assert len(call("param_array_from_cache", "w", -1)) == 4
    assert [each.shape for each in call("param_array_from_cache", "w", 2)] == [(3, 5), (3,)]
    assert call("param_array_from_cache_by_name", ["other"])[0] == 7
    assert call("param_array_from_cache_by_name_unpacked", "w_2", "other")[1] == 7
    call("tensor_cache.update", "new", np.ones(2), False)
    assert call("tensor_cache.get", "new").tolist() == [1, 1]
    with pytest.raises(ArgumentTypeError, match="has 'new' already"):
        call("tensor_cache.update", "new", np.ones(3), False)
    call("tensor_cache.remove", "new")
    assert call("tensor_cache.get", "new") is None
    with pytest.raises(ArgumentTypeError, match="has no 'w_4'"):
        call("param_array_from_cache", "w", 5)
    call("tensor_cache.clear")
    assert call("param_array_from_cache", "w", -1) == ()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((), [], "is no index of a tensor cache"),
        (("records", 0, "dataPath"), "../x.bin", "is not in the folder"),
        (("records", 0, "records", 0, "byteOffset"), -1, "cannot be the 60 bytes from byte -1 on"),
        (("records", 0, "records", 0, "nbytes"), 64, "cannot be the 64 bytes"),
        (("records", 0, "records", 0, "shape"), [3, "x"], "the entry of 'w_0' is wrong"),
        (("records", 0, "records", 0, "dtype"), None, "the entry of 'w_0' is wrong"),
    ],
)
def test_malformed_folders(tmp_path: Path, path: tuple[Any, ...], value: Any, message: str) -> None:
    tvmjs.dump_tensor_cache(PARAMS, tmp_path, "raw", show_progress=False)
    file = tmp_path / "tensor-cache.json"
    index = json.loads(file.read_text())
    inner = index
    for key in path[:-1]:
        inner = inner[key]
    if path:
        inner[path[-1]] = value
    file.write_text(json.dumps(index if path else value))
    with pytest.raises(ExecutableFormatError, match=message):
        tvmjs.load_tensor_cache(tmp_path)


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="the format is one of raw, f32-to-bf16, got 'f16'"):
        tvmjs.dump_tensor_cache({}, tmp_path, "f16")
    with pytest.raises(ArgumentTypeError, match="'x' must be a tensor, got a str"):
        tvmjs.dump_tensor_cache({"x": "text"}, tmp_path, show_progress=False)
