"""Sizes of blocks and of caches: within their limits for any machine and any extent."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from relax_mlir import transform
from relax_mlir.lowering.target import caches
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.target.target import Target
from relax_mlir.lowering.tir_to_vector.contraction.blocking import balanced_kc, max_kc, max_nc
from relax_mlir.script import from_source

PRODUCT = """
@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (ROWS, 64), "float32")
    B = T.match_buffer(b, (64, 65536), "float32")
    C = T.match_buffer(c, (ROWS, 65536), "float32")
    for i, j, l in T.grid(ROWS, 65536, 64):
        with T.block("product"):
            vi, vj, vl = T.axis.remap("SSR", [i, j, l])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vl] * B[vl, vj]
"""


@pytest.mark.parametrize(("l1", "l2"), [(32, 256), (48, 2048), (64, 1024), (1, 1)])
@pytest.mark.parametrize(("width", "rows"), [(32, 12), (16, 6), (8, 12)])
@pytest.mark.parametrize(("units", "share"), [(1, 12), (2, 9)])
def test_blocks_fit_the_caches(
    l1: int, l2: int, width: int, rows: int, units: int, share: int
) -> None:
    target = Machine.of(Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4"))
    machine = replace(target, l1_bytes=l1 << 10, l2_bytes=l2 << 10, fma_units=units)
    steps = max_kc(l1 << 9, rows * 4)
    assert steps == 4 or rows * steps * 4 <= l1 << 9
    columns = max_nc(machine.panel_bytes, steps, width, 4)
    assert columns % width == 0
    assert (columns - width) * steps * 4 <= l2 << share


@pytest.mark.parametrize(("rows", "fit"), [(64, True), (2000, False)])
def test_packed_panels_fit_l2_where_rows_do(rows: int, fit: bool) -> None:
    """With one FMA unit; for more rows L3 delivers panels fast enough, and larger ones pay."""
    lower = transform.LowerTIR("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
    text = str(lower(from_source(PRODUCT.replace("ROWS", str(rows)))))
    (elements,) = re.findall(r"memref.alloc\(\).* memref<(\d+)xf32>", text)
    assert (4 * int(elements) <= 1 << 20) == fit


def test_blocks_of_k_are_alike() -> None:
    for extent in range(1, 3000, 7):
        size = balanced_kc(extent, 512)
        blocks = [min(size, extent - start) for start in range(0, extent, size)]
        assert max(blocks) <= 512
        assert min(blocks) > max(blocks) // 2
        assert len(blocks) == -(-extent // 512)


def test_caches_by_name() -> None:
    assert Target("llvm -mcpu=haswell").cache_bytes == (32 << 10, 256 << 10, 8 << 20)
    other = Target("llvm -mtriple=aarch64-linux-gnu")
    assert other.cache_bytes == (32 << 10, 512 << 10, 8 << 20)
    server = Target("llvm -mcpu=sapphirerapids")
    assert server.cache_bytes == (48 << 10, 2 << 20, 32 << 20)


def test_caches_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (level, kind, size) in enumerate(
        [(1, "Data", "32K"), (1, "Instruction", "64K"), (2, "Unified", "2M"), (3, "Unified", "9M")]
    ):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    monkeypatch.setattr(caches, "_SYSTEM", tmp_path)
    caches._of_system.cache_clear()
    try:
        assert caches.cache_bytes("znver5", True) == (32 << 10, 2 << 20, 9 << 20)
        assert caches.cache_bytes("znver5", False) == (48 << 10, 1 << 20, 32 << 20)
        (tmp_path / "index3" / "size").write_text("260M")
        caches._of_system.cache_clear()
        assert caches.cache_bytes("znver5", True) == (32 << 10, 2 << 20, 32 << 20)
        (tmp_path / "index0" / "size").write_text("?")
        caches._of_system.cache_clear()
        assert caches.cache_bytes("znver5", True) == (48 << 10, 1 << 20, 32 << 20)
    finally:
        caches._of_system.cache_clear()
