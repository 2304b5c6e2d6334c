"""Every operator of the rows gives what eager torch gives, with a dynamic first dimension."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

# ruff: noqa: E402
from torch.export import Dim, export
from torch.utils import _pytree as pytree
from torch_rows import GROUPS, STATIC

from relax_mlir import relax
from relax_mlir.frontend.torch import from_exported_program
from relax_mlir.transform import PassContext


class Rows(torch.nn.Module):
    """The results of all rows of a group."""

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def forward(self, *inputs):
        return [row(*inputs) for _, row in self.rows]


def inputs_of(group, count):
    shapes = GROUPS[group][1]
    sizes = [
        shape if (group, i) in STATIC or shape is None else (count, *shape[1:])
        for i, shape in enumerate(shapes)
    ]
    return tuple(
        torch.randint(0, 7, (count, 8)) if size is None else torch.randn(size) for size in sizes
    )


@pytest.mark.parametrize("group", GROUPS)
def test_group(group):
    torch.manual_seed(0)
    rows, shapes = GROUPS[group]
    dims = tuple(None if (group, i) in STATIC else {0: Dim.DYNAMIC} for i in range(len(shapes)))
    model = Rows(rows)
    program = export(model, inputs_of(group, 5), dynamic_shapes=(dims,))
    with PassContext(opt_level=0):
        main = relax.VirtualMachine(relax.build(from_exported_program(program)))["main"]
    for count in (5, 7):
        inputs = inputs_of(group, count)
        actual = iter(main(*[each.numpy() for each in inputs]))
        for name, row in rows:
            for expected in pytree.tree_leaves(row(*inputs)):
                result = np.asarray(next(actual))
                assert result.dtype == expected.numpy().dtype, name
                np.testing.assert_allclose(
                    result, expected.numpy(), rtol=1e-4, atol=1e-5, err_msg=name
                )
