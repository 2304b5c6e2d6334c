"""ExecBuilder and Executable: checks, renumbering, text, Python program, file."""

import copy
import json
import os
import pickle
import random
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError
from relax_mlir.runtime import ExecBuilder, Executable, NativeObject, VirtualMachine
from relax_mlir.runtime.bytecode.instructions import (
    VM_STATE_REGISTER,
    Arg,
    ArgKind,
    Instruction,
    Opcode,
)
from relax_mlir.runtime.files import serialize


def _document() -> Executable:
    ib = ExecBuilder()
    with ib.function("func0", num_inputs=2):
        ib.emit_call("vm.op.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_call("vm.builtin.move", args=[ib.r(2)], dst=ib.r(3))
        ib.emit_call("vm.builtin.print", args=[ib.r(3)])
        ib.emit_ret(ib.r(3))
    return ib.get()


def _rich() -> Executable:
    ib = ExecBuilder()
    values = [
        np.arange(6, dtype="int16").reshape(2, 3),
        np.array([np.nan, -np.inf, -0.0], "float32"),
        np.random.default_rng(0).random((40, 5)),
        np.zeros((0, 4), "uint8"),
        np.array(True),
        np.float16(2.5) * np.ones((), "float16"),
        (2, (3, "four", None), 5.5, True),
        "text \u00e9\ud800",
        b"raw\0",
        np.dtype("bool"),
        None,
        1 << 80,
        float("nan"),
        -0.0,
    ]
    with ib.function("main", 2, ["x", "y"]):
        top = ib.emit_if(ib.r(0))
        ib.emit_call("vm.builtin.make_tuple", [ib.r(1), *values, -7, ib.vm_state()], dst=ib.r(900))
        ib.emit_ret(ib.r(900))
        ib.patch(top)
        ib.emit_call("vm.builtin.make_closure", [ib.f("other"), ib.r(1)], dst=ib.r(77))
        jump = ib.emit_goto()
        ib.patch(jump)
        ib.emit_ret(ib.r(77))
    with ib.function("other", 1):
        ib.emit_ret(ib.r(0))
    native = NativeObject("kernels", b"\x7fELF...", ("f", "g"), "t", "cpu", "+avx2", True)
    return ib.get([native], metadata={"target": {"cpu": "x"}})


def _equal(a: Executable, b: Executable) -> bool:
    return (
        a.as_text() == b.as_text()
        and a.stats() == b.stats()
        and a.global_funcs == b.global_funcs
        and a.native == b.native
        and a.metadata == b.metadata
        and a.to_bytes() == b.to_bytes()
    )


def test_document_text_and_stats() -> None:
    ex = _document()
    assert ex.stats() == (
        "Relax VM executable statistics:\n"
        "  Constant shapes (# 0): []\n"
        "  Globals (#1): [func0]\n"
        "  Packed functions (#3): [vm.op.add, vm.builtin.move, vm.builtin.print]"
    )
    assert ex.astext() == (
        "@func0:\n"
        "  call  vm.op.add        in: %0, %1       dst: %2\n"
        "  call  vm.builtin.move  in: %2           dst: %3\n"
        "  call  vm.builtin.print in: %3           dst: void\n"
        "  ret   ret %3"
    )


def test_document_python_program() -> None:
    source = _document().aspython()
    assert (
        "ib = rx.ExecBuilder()\n"
        "with ib.function('func0', num_inputs=2):\n"
        "    ib.emit_call('vm.op.add', args=[ib.r(0), ib.r(1)], dst=ib.r(2))\n"
        "    ib.emit_call('vm.builtin.move', args=[ib.r(2)], dst=ib.r(3))\n"
        "    ib.emit_call('vm.builtin.print', args=[ib.r(3)])\n"
        "    ib.emit_ret(ib.r(3))\n"
    ) in source


@pytest.mark.parametrize("make", [_document, _rich])
def test_python_program_runs_again(make: object) -> None:
    ex = make()
    scope = {"constants": ex.constants, "native": ex.native}
    exec(ex.as_python(), scope)
    assert _equal(ex, scope["ex"])


def test_instructions_and_words() -> None:
    ex = _rich()
    assert ex.get_instruction(0) == Instruction(Opcode.IF, reg=Arg(ArgKind.REGISTER, 0), offset=3)
    call = ex.get_instruction(1)
    assert call.args[-2:] == (
        Arg(ArgKind.IMMEDIATE, -7),
        Arg(ArgKind.REGISTER, VM_STATE_REGISTER),
    )
    assert ex.instr_data.dtype == ex.instr_offset.dtype == np.int64
    for i in range(len(ex.instr_offset)):
        instr = ex.get_instruction(i)
        assert Instruction.decode(instr.encode()) == instr
    with pytest.raises(IndexError):
        ex.get_instruction(len(ex.instr_offset))


def test_registers_are_renumbered_in_order_of_use() -> None:
    ib = ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("f", [ib.r(0)], dst=ib.r(10000))
        ib.emit_call("f", [ib.r(10000)], dst=ib.r(7))
        ib.emit_ret(ib.r(7))
    func = ib.get().function("main")
    assert func.register_file_size == 3
    assert ib.get().get_instruction(1).dst == ib.r(2)


def test_integers_at_the_limits_of_immediates() -> None:
    ib = ExecBuilder()
    values = [0, -1, 2**55 - 1, -(2**55), 2**55, -(2**55) - 1, 2**70, True, 1.5]
    with ib.function("main", 0):
        ib.emit_call("vm.builtin.make_tuple", [ib.imm(v) for v in values], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    result = VirtualMachine(Executable.from_bytes(ib.get().to_bytes()))["main"]()
    assert list(result) == values
    assert [type(v) for v in result] == [type(v) for v in values]


def test_equal_constants_are_shared_and_kinds_kept_apart() -> None:
    ib = ExecBuilder()
    array = np.arange(3)
    same = [ib.emit_constant(v) for v in ((1, 2), [1, 2], (np.int64(1), 2))]
    assert len(set(same)) == 1
    assert ib.emit_constant(array) == ib.emit_constant(array)
    assert len({ib.emit_constant(v) for v in (1, 1.0, True, "1", (1,), 0.0, -0.0)}) == 7


def test_builder_errors() -> None:
    ib = ExecBuilder()
    emitters = (
        lambda: ib.emit_call("f"),
        lambda: ib.emit_ret(ib.r(0)),
        lambda: ib.emit_if(ib.r(0), 1),
        lambda: ib.emit_goto(1),
        lambda: ib.patch(0),
    )
    for emit in emitters:
        with pytest.raises(ValueError, match="outside"):
            emit()
    with ib.function("main", 1):
        with pytest.raises(ValueError, match="'main' is still open"):
            ib.get()
        with pytest.raises(ValueError, match="cond must be a register"):
            ib.emit_if(ib.imm(1), 1)
        with pytest.raises(ArgumentTypeError, match="cannot be a constant"):
            ib.emit_call("f", [object()])
        with pytest.raises(ValueError, match="not a jump"):
            ib.patch(0)
        ib.emit_ret(ib.r(0))
    with pytest.raises(ValueError, match="'main' is defined already"), ib.function("main", 1):
        pass
    with pytest.raises(ValueError, match="2 distinct"), ib.function("g", 2, ["a", "a"]):
        pass
    with pytest.raises(ValueError, match="cannot be negative"):
        ib.r(-1)


def test_body_checks() -> None:
    def build(*steps: object, inputs: int = 2) -> None:
        ib = ExecBuilder()
        with ib.function("main", inputs):
            for step in steps:
                step(ib)

    with pytest.raises(ValueError, match=r"instruction 0: register %3 is used before it is def"):
        build(lambda ib: ib.emit_call("f", [ib.r(3)]), lambda ib: ib.emit_ret(ib.r(0)))
    with pytest.raises(ValueError, match="must end with emit_ret"):
        build(lambda ib: ib.emit_call("f"))
    with pytest.raises(ValueError, match="must end with emit_ret"):
        build()
    for jump in (
        lambda ib: ib.emit_goto(),
        lambda ib: ib.emit_goto(2),
        lambda ib: ib.emit_goto(-1),
    ):
        with pytest.raises(ValueError, match="no valid target"):
            build(jump, lambda ib: ib.emit_ret(ib.r(0)))
    # A builder whose function failed can go on.
    ib = ExecBuilder()
    with pytest.raises(RuntimeError), ib.function("main", 1):
        raise RuntimeError
    with ib.function("main", 1):
        ib.emit_ret(ib.r(0))
    assert [f.name for f in ib.get().global_funcs] == ["main"]


def test_save_and_load(tmp_path: Path) -> None:
    ex = _rich()
    path = tmp_path / "model.rlx"
    ex.save(path)
    ex.save(str(path))
    loaded = Executable.load(path)
    assert _equal(ex, loaded)
    assert [p.name for p in tmp_path.iterdir()] == ["model.rlx"]
    for before, after in zip(ex.constants, loaded.constants, strict=True):
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(before, after)
            assert before.dtype == after.dtype
            assert after.size == 0 or after.ctypes.data % 64 == 0
            assert after.flags.carray
    with pytest.raises(FileNotFoundError):
        Executable.load(tmp_path / "nothing")


def test_save_through_a_link(tmp_path: Path) -> None:
    link, folder = tmp_path / "link", tmp_path / "folder"
    folder.mkdir()
    link.symlink_to(folder / "model.rlx")
    for _ in range(2):
        _rich().save(link)
        assert link.is_symlink()
        assert _equal(_rich(), Executable.load(link))
    assert [p.name for p in folder.iterdir()] == ["model.rlx"]


def test_save_to_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        _rich().save("/dev/full")
    assert Path("/dev/full").is_char_device()
    assert not list(Path("/dev").glob(".full*"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        data = pool.submit(pipe.read_bytes)
        _rich().save(pipe)
    assert data.result() == b"".join(map(bytes, serialize.dump(_rich())))
    assert pipe.is_fifo()


def test_pickles_and_copies() -> None:
    ex, other = _rich(), ExecBuilder()
    with other.function("imported", 1):
        other.emit_ret(other.r(0))
    ex.import_module(other.get())
    for same in (pickle.loads(pickle.dumps(ex)), copy.deepcopy(ex)):
        assert _equal(ex, same)
        assert same["imported"](3) == 3
    vm = VirtualMachine(other.get(), "cpu:0", "naive")
    for same in (pickle.loads(pickle.dumps(vm)), copy.deepcopy(vm)):
        assert same["imported"](3) == 3
        assert same.state.devices == vm.state.devices
        assert type(same.state.allocators[0]) is type(vm.state.allocators[0])


def test_big_endian_and_strided_constants() -> None:
    base = np.arange(12, dtype=">i4").reshape(3, 4)
    ib = ExecBuilder()
    ib.emit_constant(base[:, ::2])
    with ib.function("main", 0):
        ib.emit_call("vm.builtin.copy", [ib.c(0)], dst=ib.r(0))
        ib.emit_ret(ib.r(0))
    ex = ib.get()
    for e in (ex, Executable.from_bytes(ex.to_bytes())):
        result = VirtualMachine(e)["main"]()
        assert result.dtype == np.dtype("int32")
        assert result.dtype.isnative
        np.testing.assert_array_equal(result, base[:, ::2])


def test_damage_names_the_section() -> None:
    data = _rich().to_bytes()
    table = serialize._HEADER.size
    for i, name in enumerate(serialize.SECTIONS):
        _, offset, _, _ = serialize._ENTRY.unpack_from(data, table + i * serialize._ENTRY.size)
        damaged = bytearray(data)
        # The data section begins with the first array.
        damaged[offset] ^= 255
        with pytest.raises(ExecutableFormatError, match=f"in the {name} section"):
            Executable.from_bytes(bytes(damaged))
    other = bytearray(data)
    other[8:12] = struct.pack("<I", 99)
    with pytest.raises(ExecutableFormatError, match="version 99; this library reads version 3"):
        Executable.from_bytes(bytes(other))
    with pytest.raises(ExecutableFormatError, match="not an executable of relax_mlir"):
        Executable.from_bytes(b"x" * 1000)


def test_wrong_code_with_right_checksums_is_refused() -> None:
    rng = random.Random(2)
    ex = _rich()
    reasons = []
    for _ in range(300):
        words = ex.instr_data.copy()
        words[rng.randrange(len(words))] = rng.choice([0, 1, -1, 1 << 60, rng.getrandbits(63)])
        bad = Executable(ex.global_funcs, ex.constants, ex.func_names, words, ex.instr_offset)
        try:
            Executable.from_bytes(bad.to_bytes()).as_text()
        except ExecutableFormatError as error:
            reasons.append(str(error))
    assert len(reasons) > 100
    assert all("in the code section" in r for r in reasons)


@pytest.mark.parametrize("section", ["globals", "names", "constants", "native"])
@pytest.mark.parametrize("value", [None, 1, [[1]], [{"kind": "tensor"}], [{"kind": "odd"}]])
def test_wrong_tables_with_right_checksums_are_refused(
    section: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, order, calls = json.dumps, ["metadata", "globals", "names", "constants", "native"], []

    def dumps(obj: object) -> str:
        calls.append(obj)
        return real(value if order[len(calls) - 1] == section else obj)

    ex = _rich()
    with monkeypatch.context() as patch:
        patch.setattr(serialize.json, "dumps", dumps)
        data = ex.to_bytes()
    with pytest.raises(ExecutableFormatError, match=f"in the {section} section"):
        Executable.from_bytes(data)


def test_files_cannot_hold_every_constant() -> None:
    ex = Executable(constants=[np.array(["a"])])
    with pytest.raises(ArgumentTypeError, match="cannot hold arrays of dtype"):
        ex.to_bytes()
    with pytest.raises(ArgumentTypeError, match="metadata must be JSON"):
        Executable(metadata={"x": object()}).to_bytes()
