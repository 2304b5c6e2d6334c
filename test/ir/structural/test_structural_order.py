"""Structural equality of what has no order of its own: uses of inner blocks, choices, sums."""

from relax_mlir import ir, te, tir, topi
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source


def test_the_order_of_what_inner_blocks_use_is_that_of_their_expressions() -> None:
    text = """def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            first = vi * 2
            second = vj * 2
            for a, b in T.grid(2, 2):
                with T.block("I"):
                    va, vb = T.axis.remap("SS", [a, b])
                    USED
                    B[va + vi * 2, vb + vj * 2] = A[below, right]
"""
    head = "from relax_mlir.script import tir as T\n\n@T.prim_func\n"

    def program(*steps: str) -> IRModule:
        return from_source(head + text.replace("USED", ("\n" + " " * 20).join(steps)))

    one = program("below = va + first", "right = vb + second")
    other = program("right = vb + second", "below = va + first")
    ir.assert_structural_equal(one, other)
    assert ir.structural_hash(one) == ir.structural_hash(other)
    assert not ir.structural_equal(one, program("right = vb + first", "below = va + second"))


def test_choices_of_expressions_have_one_order():
    a = te.placeholder((8,), name="a")
    first, second = te.compute(
        (8,), lambda i: (tir.Select(a[i] > 1.0, a[i], 0.0), tir.if_then_else(i > 2, a[i], 1.0))
    )
    mod = te.create_prim_func([a, first, second]).module
    ir.assert_structural_equal(from_source(mod.script()), mod)


def test_sums_in_parentheses_are_the_same_in_text():
    mod = from_source(
        """from relax_mlir.script import tir as T

@T.prim_func
def main(A: T.Buffer((9,), "float32"), B: T.Buffer((3, 3, 3), "float32")):
    for i, j, k in T.grid(3, 3, 3):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vk + (vi + vj)]
"""
    )
    ir.assert_structural_equal(IRModule.parse(str(mod)), mod)


def test_what_nothing_uses_is_no_part_of_a_program() -> None:
    """Scripts do not write a load whose value nothing takes."""
    x = te.placeholder((2, 9), "float32", "x")
    module = te.create_prim_func([x, topi.argsort(x)]).module
    ir.assert_structural_equal(from_source(module.script()), module)


def test_accesses_are_the_same_in_any_order_of_terms_and_buffers() -> None:
    """A block with loops prints what it declares, of buffers made around it and at the top."""
    mod = from_source(
        """from relax_mlir.script import tir as T

@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 6), "float32")):
    C = T.alloc_buffer((4, 16), "float32")
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            D = T.alloc_buffer((6,), "float32")
            for j in range(6):
                with T.block("B"):
                    vj = T.axis.spatial(6, j)
                    D[vj] = C[vi, vj]
                    for k in range(2):
                        B[vi, vj] = D[vj] + C[vi, vj * 2 + vi] + A[vi, vj + vi]
"""
    )
    ir.assert_structural_equal(from_source(mod.script()), mod)
    assert ir.structural_hash(from_source(mod.script())) == ir.structural_hash(mod)
