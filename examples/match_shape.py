"""Both meanings of `match_shape` in the design document, and what a wrong shape gets.

Where a symbol occurs for the first time it is defined, where it occurs again it is an assertion.
What is matched is a tensor or a shape.
"""

from __future__ import annotations  # the annotations name shapes that only the script defines

import numpy as np

from relax_mlir import relax
from relax_mlir.errors import ShapeMismatchError
from relax_mlir.script import relax as R


@R.function
def shape_example(x: R.Tensor[_, "f32"], y: R.Tensor[_, "f32"]):
    with R.dataflow():
        # the match shape defines n, m because it appears for the first time
        lv0: R.Tensor[(n, m)] = R.match_shape(x, (n, m))
        # the second occurance of n, m will translate into an assertion
        # that y's shape equals (n, m)
        lv1: R.Tensor[(n, m)] = R.match_shape(y, (n, m))
        # we can also call match_shape on shape expressions
        lv2: Shape = R.match_shape(R.shape_of(y), (n, m))
        # The document stops here; a function needs a result.
        gv0: R.Tensor[(n, m)] = R.add(lv0, lv1)
        R.outputs(gv0)
    return gv0


def main():
    vm = relax.VirtualMachine(relax.build(shape_example))
    x = np.ones((2, 3), "float32")
    print(vm["shape_example"](x, x))
    try:
        vm["shape_example"](x, np.ones((2, 4), "float32"))
    except ShapeMismatchError as error:
        print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
