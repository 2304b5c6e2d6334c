"""Modules and machines whose functions can be timed."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relax_mlir.runtime.device.api import device

if TYPE_CHECKING:
    from relax_mlir.runtime.profiling.evaluator import BenchmarkResult


class Timed:
    """Functions by name that can be timed."""

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function; raises FunctionNotFoundError."""
        raise NotImplementedError

    def time_evaluator(
        self,
        func_name: str,
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> "Callable[..., BenchmarkResult]":
        """Return a function that times another one; it takes that one's arguments.

        Args:
            func_name: what to time.
            dev: the device; it is waited for at the end of each measurement.
            number: calls per measurement.
            repeat: measurements.
            min_repeat_ms: `number` grows until a measurement takes at least so long.
            cooldown_interval_ms: pause between groups of measurements.
            repeats_to_cooldown: measurements in a group.
            f_preproc: name of a registered function to call before each measurement.

        Raises:
            FunctionNotFoundError: there is no such function.
            ArgumentTypeError: a count below 1 or a negative time; when it is called.
            DeviceError: no such device.
        """
        # Few programs are timed.
        from relax_mlir.runtime.profiling.evaluator import evaluate

        call = self[func_name]
        place = None if dev is None else device(dev)
        if place is not None and place.name == "cpu":
            place = None
        before = None
        if f_preproc:
            from relax_mlir.runtime.registry import get_global_func

            before = get_global_func(f_preproc)

        def timed(*args: Any, **kwargs: Any) -> "BenchmarkResult":
            def run() -> None:
                call(*args, **kwargs)
                if place is not None:
                    place.sync()

            return evaluate(
                run,
                number,
                repeat,
                min_repeat_ms,
                cooldown_interval_ms,
                repeats_to_cooldown,
                before,
            )

        return timed
