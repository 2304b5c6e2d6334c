"""A product of matrices and a softmax for any number of rows, which `relax-compile` reads.

`relax-compile examples/scores.py -o scores.rxe --report --report-size=n=512` says what its kernels
became; `relax-run scores.rxe --dim n=64 --benchmark` runs them.
"""

from __future__ import annotations  # the annotations name shapes that only the script defines

from relax_mlir.script import ir as I
from relax_mlir.script import relax as R


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 512), "float32"), weight: R.Tensor((512, 512), "float32")):
        with R.dataflow():
            scores = R.matmul(x, weight)
            y = R.nn.softmax(scores, axis=-1)
            R.output(y)
        return y
