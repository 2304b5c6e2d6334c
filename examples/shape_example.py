"""The design document's shapes: symbolic, computed by arbitrary code, and data-dependent.

`myshape_func` takes a shape and returns one; `custom_func` fills an output of that shape; `unique`
gives as many elements as the data has; `match_shape` names that number and symbolic shapes go on.
"""

from __future__ import annotations  # the annotations name shapes that only the script defines

import numpy as np

from relax_mlir import register_func, relax
from relax_mlir.script import relax as R


@register_func("myshape_func")
def myshape_func(shape):
    return tuple(dim // 2 for dim in shape)


@register_func("custom_func")
def custom_func(x, out):
    out[:] = x[: len(out)]


@R.function
def shape_example(x: R.Tensor[(n, 2, 2), "f32"]):
    with R.dataflow():
        # 1. symbolic and static shape deduction
        lv0: R.Tensor[(n, 4), "f32"] = R.reshape(x, (n, 4))
        lv1: R.Tensor[(n * 4,), "f32"] = R.flatten(lv0)
        lv2: R.Shape = (n * 4,)
        # 2. external opaque shape function
        lv3: R.Shape = R.call_packed("myshape_func", lv2)
        lv4: R.Tensor[lv3, "f32"] = R.call_tir(lv3, "custom_func", [lv1])
        # 3. data dependent case
        lv5: R.Tensor[_, "f32"] = R.unique(lv4)
        # 3. re-match shape
        lv6: R.Tensor[(m,), "f32"] = R.match_shape(lv5, (m,))
        gv0: R.Tensor[(m,), "f32"] = R.exp(lv6)
        R.outputs(gv0)
    return gv0


def main():
    vm = relax.VirtualMachine(relax.build(shape_example))
    x = np.array([3, 1, 2, 1, 3, 3, 9, 9], "float32").reshape(2, 2, 2)
    result = vm["shape_example"](x)
    np.testing.assert_allclose(result, np.exp(np.unique(x.ravel()[:4])), rtol=1e-6)
    print(f"{x.size} numbers, half of them kept, {len(result)} different: {result}")


if __name__ == "__main__":
    main()
