"""An executable's file: damage at thousands of places, mapped arrays, weights beside it."""

import gc
import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relax_mlir.atomic_file import write_file
from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError
from relax_mlir.runtime import ExecBuilder, Executable, NativeObject, VirtualMachine
from relax_mlir.runtime.files import serialize
from relax_mlir.runtime.files.access import PIECE, checksums
from relax_mlir.runtime.files.constants import CheckedConstants
from relax_mlir.runtime.files.safetensors import load_file, save_file


def model(code: bool = True) -> Executable:
    ib = ExecBuilder()
    rng = np.random.default_rng(0)
    arrays = [
        rng.random((7, 5)).astype("float32"),
        rng.integers(0, 9, (3,)).astype("int16"),
        np.zeros((0, 4), "uint8"),
        np.array(2.5),
        np.array([True, False]),
        rng.random(64),
    ]
    values = [*arrays, (arrays[0] + 1, (2, "x")), "text", b"raw\0", 1.5, None, np.dtype("int8")]
    with ib.function("main", 1, ["x"]):
        ib.emit_call("vm.builtin.make_tuple", [ib.r(0), *values], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with ib.function("first", 0):
        ib.emit_call("vm.builtin.copy", [arrays[0]], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    native = NativeObject("kernels", b"\x7fELF...", ("f", "g"), "t", "cpu", "+avx2", True)
    return ib.get([native] if code else [], metadata={"target": {"cpu": "x"}})


def plain(value: object) -> object:
    """A value's bytes and dtypes, to compare."""
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tobytes()
    return [plain(v) for v in value] if isinstance(value, tuple) else value


def summary(ex: Executable) -> object:
    ex.verify()
    return [ex.as_text(), ex.global_funcs, ex.native, ex.metadata, *map(plain, ex.constants)]


EXPECTED = summary(model())
DATA = model().to_bytes()


def harmless(load: Callable[[], Executable]) -> bool:
    """Whether a damaged file loads; it must then be what it was, or else say what is wrong."""
    reason = ""
    try:
        assert summary(load()) == EXPECTED
    except ExecutableFormatError as error:
        reason = str(error)
    assert reason == "" or "Invalid VM file format in the" in reason
    return not reason


def test_every_truncation_is_an_error() -> None:
    for cut in range(len(DATA)):
        assert not harmless(lambda cut=cut: Executable.from_bytes(DATA[:cut])), cut
    assert not harmless(lambda: Executable.from_bytes(DATA + b"\0" * 64))


def test_every_flipped_bit_is_found_or_harmless() -> None:
    rng, quiet = random.Random(1), 0
    for position in range(len(DATA)):
        damaged = bytearray(DATA)
        damaged[position] ^= 1 << rng.randrange(8)
        quiet += harmless(lambda data=bytes(damaged): Executable.from_bytes(data))
    # Only the gaps between arrays may change.
    arrays = [a for a in model().constants if isinstance(a, np.ndarray)] + [np.zeros((7, 5), "f4")]
    assert quiet <= sum(-a.nbytes % 64 for a in arrays)


def test_mixed_damage() -> None:
    rng = random.Random(2)
    for _ in range(1500):
        damaged = bytearray(DATA)
        start = rng.randrange(len(DATA))
        size = rng.choice([1, 2, 8, 64, 500])
        kind = rng.randrange(4)
        if kind == 0:
            damaged[start : start + size] = rng.randbytes(len(damaged[start : start + size]))
        elif kind == 1:
            del damaged[start : start + size]
        elif kind == 2:
            damaged[start:start] = rng.randbytes(size)
        else:
            other = rng.randrange(len(DATA))
            damaged[start : start + size] = DATA[other : other + len(damaged[start : start + size])]
        harmless(lambda data=bytes(damaged): Executable.from_bytes(data))


def mutated(value: Any, rng: random.Random) -> Any:
    """A JSON value with one thing in it replaced."""
    if isinstance(value, (list, dict)) and value and rng.random() < 0.9:
        changed: Any = value.copy()
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if rng.random() < 0.05:
            del changed[key]
        else:
            changed[key] = mutated(value[key], rng)
        return changed
    return rng.choice([None, -1, 0, 1, 3, 1 << 70, 2.5, True, "x", "float32", [], [-1], {}, [[]]])


@pytest.mark.parametrize("section", ["metadata", "globals", "names", "constants", "native"])
def test_wrong_tables_with_right_checksums(section: str, monkeypatch: pytest.MonkeyPatch) -> None:
    order = ["metadata", "globals", "names", "constants", "native"]
    real, rng, refused = json.dumps, random.Random(5), 0
    for _ in range(150):
        sections = iter(order)

        def dumps(value: Any, sections: Any = sections) -> str:
            return real(mutated(value, rng) if next(sections) == section else value)

        with monkeypatch.context() as patch:
            patch.setattr(serialize.json, "dumps", dumps)
            data = model().to_bytes()
        try:
            ex = Executable.from_bytes(data)
        except ExecutableFormatError:
            refused += 1
            continue
        assert ex.as_text()
        assert ex.stats()
        assert len(ex.to_bytes()) > 500
    assert refused > 30 or section == "metadata"


@pytest.mark.parametrize("mmap", [True, False])
def test_arrays_are_checked_at_their_first_use(tmp_path: Path, mmap: bool) -> None:
    path = tmp_path / "model.rxe"
    model(code=False).save(path)
    x = np.ones(1)
    good = plain(VirtualMachine(path)["main"](x))
    where = path.read_bytes().index(model().constants[5].tobytes())
    damaged = bytearray(path.read_bytes())
    damaged[where + 100] ^= 4
    path.write_bytes(damaged)
    ex = Executable.load(path, mmap=mmap)
    vm = VirtualMachine(ex)
    # A function that does not use the array is right.
    assert plain(vm["first"]()) == plain(model().constants[0])
    message = r"data section: constant 5, float64\[64\], has a wrong checksum"
    for _ in range(2):
        with pytest.raises(ExecutableFormatError, match=message):
            vm["main"](x)
    for use in (ex.verify, lambda: ex.constants[5], lambda: list(ex.constants), ex.to_bytes):
        with pytest.raises(ExecutableFormatError, match=message):
            use()
    assert plain(ex.constants[0]) == plain(model().constants[0])
    with pytest.raises(ExecutableFormatError, match=message):
        Executable.load(path, verify=True)
    trusted = VirtualMachine(Executable.load(path, verify=False))["main"](x)
    assert plain(trusted) != good


def test_damaged_files_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "model.rxe"
    rng = random.Random(3)
    for _ in range(300):
        damaged = bytearray(DATA)
        damaged[rng.randrange(len(DATA))] ^= 1 << rng.randrange(8)
        cut = rng.choice([len(DATA), len(DATA), rng.randrange(len(DATA))])
        path.write_bytes(damaged[:cut])
        harmless(lambda: Executable.load(path))
    path.write_bytes(b"")
    with pytest.raises(ExecutableFormatError, match="the file has only 0 bytes"):
        Executable.load(path)
    with pytest.raises(OSError, match="directory"):
        Executable.load(tmp_path)


def test_mapped_arrays_are_aligned_and_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "model.rxe"
    model().save(path)
    ex = Executable.load(path)
    assert isinstance(ex.constants, CheckedConstants)
    assert repr(ex.constants) == "<12 constants, 7 not yet checked>"
    for array in ex.constants[:6]:
        assert array.size == 0 or array.ctypes.data % 64 == 0
        assert array.size == 0 or not array.flags.owndata
        assert array.flags.carray
    # What a program writes there stays in the process; a new file leaves the old one alone.
    ex.constants[0][:] = 7
    ex2 = Executable.load(path)
    assert not (ex2.constants[0] == 7).any()
    Executable(metadata={"other": 1}).save(path)
    assert summary(ex2) == EXPECTED


def test_a_large_array_is_checked_when_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "large.rxe"
    ib = ExecBuilder()
    weight = np.arange(6_000_000, dtype="float32")
    with ib.function("main", 0):
        ib.emit_call("vm.builtin.shape_of", [weight], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    ib.get().save(path)
    vm = VirtualMachine(path)
    assert len(vm.executable.constants._checks) == 1
    assert vm["main"]() == (6_000_000,)
    assert not vm.executable.constants._checks


@pytest.mark.parametrize("apart", [False, True])
def test_checks_leave_arrays_out_of_memory(tmp_path: Path, apart: bool) -> None:
    path, weights = tmp_path / "large.rxe", tmp_path / "large.weights"
    ex = Executable(constants=[np.arange(3_000_000, dtype="float32"), np.ones(3)])
    ex.save(path, weights if apart else None)
    loaded = Executable.load(path)
    loaded.verify()
    mapped = Path("/proc/self/smaps").read_text().split(str(weights if apart else path))[1]
    resident = next(row for row in mapped.splitlines() if row.startswith("Rss:"))
    assert int(resident.split()[1]) <= 2048  # KB: a huge page
    assert loaded.constants[0][-1] == 2_999_999


def test_a_file_that_is_cut_after_loading_fails_its_check(tmp_path: Path) -> None:
    path = tmp_path / "large.rxe"
    Executable(constants=[np.arange(3_000_000, dtype="float32")]).save(path)
    loaded = Executable.load(path)
    os.truncate(path, 1 << 20)
    with pytest.raises(ExecutableFormatError, match="has a wrong checksum"):
        loaded.verify()


def test_files_of_more_pieces_than_one_write_takes(tmp_path: Path) -> None:
    parts = [bytes([i % 251]) * (i % 7) for i in range(5000)]
    write_file(tmp_path / "file", parts)
    assert (tmp_path / "file").read_bytes() == b"".join(parts)
    large = np.arange(1 << 20, dtype="float32")
    write_file(tmp_path / "file", [b"", np.arange(3), large, large, memoryview(b"end")])
    wanted = np.arange(3).tobytes() + 2 * large.tobytes() + b"end"
    assert (tmp_path / "file").read_bytes() == wanted


def test_mapped_files_are_closed(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "large.rxe"
    Executable(constants=[np.ones(100_000)]).save(path)
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    Executable.load(path).verify()
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert not recwarn.list


def test_files_that_end_after_they_were_mapped(tmp_path: Path) -> None:
    path = tmp_path / "large.rxe"
    Executable(constants=[np.ones(100_000)]).save(path)
    loaded = Executable.load(path)
    with path.open("r+b") as file:
        file.truncate(50_000)
    with pytest.raises(ExecutableFormatError, match=r"constant 0, .*wrong checksum"):
        loaded.verify()


@pytest.mark.parametrize("size", [0, 1, PIECE, PIECE + 1, 5 * PIECE - 3])
def test_checksums_of_pieces(size: int) -> None:
    data = np.zeros(size, np.uint8)
    (before,) = checksums(data)
    assert len(before) == -(-size // PIECE)
    assert checksums(data, data[: size // 2]) == [before, *checksums(data[: size // 2])]
    for position in {0, size // 2, size - 1} if size else ():
        data[position] ^= 16
        assert checksums(data) != [before]
        data[position] ^= 16


# Weights in a file of their own


def test_weights_beside_the_executable(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    path, weights = tmp_path / "model.rxe", tmp_path / "weights" / "model.safetensors"
    model().save(path, weights=weights)
    assert summary(Executable.load(path)) == EXPECTED
    assert summary(Executable.load(path, mmap=False)) == EXPECTED
    assert sorted(load_file(weights)) == ["c0", "c1", "c2", "c3", "c4", "c5", "c6.0"]
    moved = tmp_path / "moved.safetensors"
    weights.rename(moved)
    with pytest.raises(ExecutableFormatError, match="which is not there: say where with weights="):
        Executable.load(path)
    ex = Executable.load(path, weights=moved)
    assert summary(ex) == EXPECTED
    assert summary(Executable.from_bytes(path.read_bytes(), weights=moved)) == EXPECTED
    with pytest.raises(ExecutableFormatError, match="say where with weights="):
        Executable.from_bytes(path.read_bytes())
    # And back into one file.
    ex.save(path)
    assert summary(Executable.load(path)) == EXPECTED


def test_damaged_and_wrong_weights(tmp_path: Path) -> None:
    path, weights = tmp_path / "model.rxe", tmp_path / "model.safetensors"
    model().save(path, weights=weights)
    good = weights.read_bytes()
    rng, quiet = random.Random(4), 0

    def load() -> Executable:
        return Executable.load(path)

    for position in [*range(0, len(good), 3), *[None] * 100]:
        damaged = bytearray(good)
        if position is None:
            del damaged[rng.randrange(len(good)) :]
        else:
            damaged[position] ^= 1 << rng.randrange(8)
        weights.write_bytes(damaged)
        try:
            assert summary(load()) == EXPECTED
            quiet += 1
        except ExecutableFormatError:
            pass
    # The header's padding and metadata.
    assert quiet < 60
    tensors = {"c0": np.zeros((7, 5), "float32")}
    save_file(tensors, weights)
    with pytest.raises(ExecutableFormatError, match="the weights file has no 'c1'"):
        load()
    save_file({"c0": np.zeros((5, 7), "float32")}, weights)
    with pytest.raises(ExecutableFormatError, match=r"weight 'c0' is float32\[5, 7\] in the"):
        load()


def test_safetensors_layout(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    ml_dtypes = pytest.importorskip("ml_dtypes")
    tensors = {
        "odd": np.arange(3, dtype="int8"),
        "aligned": np.arange(32, dtype="float32").reshape(4, 8),
        "scalar": np.array(1.5),
        "empty": np.zeros((2, 0), "float16"),
        "strided": np.arange(10, dtype=">u4")[::3],
        "half": np.arange(3, dtype=ml_dtypes.bfloat16),
        "flag": np.array([True, False]),
    }
    size = save_file(tensors, path, {"format": "np"})
    raw = path.read_bytes()
    assert len(raw) == size
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    assert (8 + length) % 64 == 0
    assert header["__metadata__"] == {"format": "np"}
    assert header["half"]["dtype"] == "BF16"
    ranges = sorted(e["data_offsets"] for name, e in header.items() if name != "__metadata__")
    assert [r[0] for r in ranges] == [0, *[r[1] for r in ranges[:-1]]]
    loaded = load_file(path)
    assert loaded["aligned"].ctypes.data % 64 == 0
    for name, array in tensors.items():
        assert loaded[name].shape == array.shape
        assert loaded[name].dtype.name == array.dtype.name
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].flags.aligned


def test_files_are_those_of_the_safetensors_library(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    dtypes = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
    tensors = {d: np.arange(7).astype(d) for d in dtypes}
    tensors |= {"matrix": np.ones((4, 16), "f4"), "scalar": np.array(1.5), "none": np.zeros((2, 0))}
    save_file(tensors, ours, {"format": "np"})
    safetensors.save_file(tensors, theirs, {"format": "np"})
    for loaded in (safetensors.load_file(ours), load_file(theirs), load_file(ours)):
        assert loaded.keys() == tensors.keys()
        for name, array in tensors.items():
            assert loaded[name].dtype == array.dtype
            np.testing.assert_array_equal(loaded[name], array, strict=True)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ([], "no JSON object"),
        ({"a": 1}, "entry of 'a' is wrong"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}}, "do not agree"),
        ({"a": {"dtype": "F33", "shape": [1], "data_offsets": [0, 4]}}, "unknown dtype 'F33'"),
        ({"a": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}}, "unknown dtype"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": 4}}, "entry of 'a' is wrong"),
        ({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, "entry of 'a' is wrong"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, "not where they must be"),
        ({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}, "not where they must be"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, "8 bytes|expected"),
    ],
)
def test_malformed_safetensors(tmp_path: Path, header: object, message: str) -> None:
    path = tmp_path / "w.safetensors"
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    with pytest.raises(ExecutableFormatError, match=message):
        load_file(path)


def test_safetensors_refuses(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    for tensors in ({"a": np.array(["x"])}, {"__metadata__": np.zeros(1)}, {1: np.zeros(1)}):
        with pytest.raises(ArgumentTypeError):
            save_file(tensors, path)
    with pytest.raises(ArgumentTypeError, match="must be strings"):
        save_file({}, path, {"a": 1})
    assert not list(tmp_path.iterdir())
    for raw in (b"", b"1234567", struct.pack("<Q", 1 << 40) + b"{}"):
        path.write_bytes(raw)
        with pytest.raises(ExecutableFormatError, match="no valid safetensors file"):
            load_file(path)
    twice = b'{"a": {}, "a": {}}'
    path.write_bytes(struct.pack("<Q", len(twice)) + twice)
    with pytest.raises(ExecutableFormatError, match="a name is there twice"):
        load_file(path)
