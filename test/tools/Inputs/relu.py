"""A script that relax-compile parses: executing it would fail."""

from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

raise RuntimeError("executed")


@I.ir_module
class Model:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            z = R.add(y, R.nn.relu(x))
            R.output(z)
        return z
