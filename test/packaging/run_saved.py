"""Run where only numpy, llvmlite and apache-tvm-ffi are: a saved executable, all of the runtime."""

import sys

import numpy as np

from relax_mlir import runtime

path = sys.argv[1]
x = np.arange(6, dtype="float32").reshape(2, 3)
vm = runtime.VirtualMachine(runtime.Executable.load(path, verify=True))
for n in (1, 2, 5):
    x = np.linspace(-1, 1, n * 4, dtype="float32").reshape(n, 4)
    expected = np.maximum(x @ np.full((4, 3), 0.5, "float32") + 1, 0)
    np.testing.assert_allclose(vm["main"](x), expected, rtol=1e-6)
try:
    vm["main"](x[:, :3])
except ValueError as error:
    print(type(error).__name__)

executable = runtime.load_module(path)
executable.stats(), executable.as_text(), executable.as_python()
np.testing.assert_allclose(executable(x), vm["main"](x))
for name in runtime.__all__:
    getattr(runtime, name)
loaded = {name.partition(".")[0] for name in sys.modules}
print(sorted(loaded & {"torch_mlir", "mlir", "torch", "jax", "sklearn", "ml_dtypes", "scipy"}))
compiler = ("relax_mlir.dialects", "relax_mlir.lowering", "relax_mlir.relax")
print(sorted(name for name in sys.modules if name.startswith(compiler)))
