"""`GraphModule`: TVM's interface of the graph executor."""

from collections.abc import Callable
from typing import Any

from relax_mlir.errors import DeviceError
from relax_mlir.runtime.device.api import device as to_device
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.graph.executor import EXPORTED, GraphExecutor
from relax_mlir.runtime.profiling.evaluator import BenchmarkResult, evaluate


def create(graph_json_str: str, libmod: Executable, device: Any = None) -> "GraphModule":
    """Return a graph module for a graph's JSON and the executable that has its functions.

    Raises:
        VMError: the JSON is no graph, or one that does not fit the executable.
        DeviceError: a device that is not the CPU.
    """
    return GraphModule(GraphExecutor(graph_json_str, libmod, device))


class GraphModule:
    """A graph executor as people use it: `GraphModule(lib["default"](dev))`.

    Raises:
        TypeError: not a graph executor.
    """

    def __init__(self, module: GraphExecutor) -> None:
        if not isinstance(module, GraphExecutor):
            raise TypeError(f'GraphModule takes lib["default"](device), got {module!r}')
        self.module = module

    def __getattr__(self, name: str) -> Any:
        if name in (*EXPORTED, "get_input_info"):
            return getattr(self.module, name)
        raise AttributeError(f"a GraphModule has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *EXPORTED, "get_input_info"])

    def __getitem__(self, key: str) -> Callable[..., Any]:
        """Return one of the executor's functions, such as `module["run"]`."""
        return self.module[key]

    def get_graph_json(self) -> str:
        """Return the graph."""
        return self.module.graph_json

    def benchmark(
        self,
        device: Any = None,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: float | None = None,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        end_to_end: bool = False,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """Time the graph.

        Args:
            device: the CPU; None is that too.
            func_name: the function to time.
            repeat: measurements.
            number: runs per measurement.
            min_repeat_ms: `number` grows until a measurement takes so long.
            cooldown_interval_ms: pause between groups of measurements.
            repeats_to_cooldown: measurements in a group.
            end_to_end: whether to time setting the inputs and getting the outputs too.
            **kwargs: inputs by name.

        Raises:
            ArgumentTypeError, ShapeMismatchError: a wrong input or count.
            DeviceError: another device.
        """
        if device is not None and to_device(device) != self.module.device:
            raise DeviceError(f"this graph runs on {self.module.device}, not on {device}")
        self.module.set_input(**kwargs)
        call = self.module[func_name]

        def whole() -> None:
            self.module.set_input(**kwargs)
            call()
            for i in range(self.module.get_num_outputs()):
                self.module.get_output(i)

        run = whole if end_to_end else call
        pause = (cooldown_interval_ms, repeats_to_cooldown)
        return evaluate(run, number, repeat, min_repeat_ms or 0, *pause)
