"""Stateful interface of the virtual machine: set_input, saved functions, profiles."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.errors import (
    ArgumentTypeError,
    FunctionNotFoundError,
    StatefulCallError,
    did_you_mean,
)
from relax_mlir.runtime.profiling.timed import Timed
from relax_mlir.runtime.values.convert import describe, to_value
from relax_mlir.runtime.values.ndarray import as_tensors
from relax_mlir.runtime.vm.arguments import bind, convert

if TYPE_CHECKING:
    from relax_mlir.runtime.profiling.profile import Report

# Methods that TVM's virtual machine gives as functions too: `time_evaluator("invoke_stateful")`.
STATEFUL = ("invoke_stateful", "save_function", "set_input")


class StatefulCalls(Timed):
    """The part of a virtual machine that remembers; TVM's names and meanings.

    Inputs and outputs that are kept belong to the thread that set them.
    """

    _lock: threading.RLock
    _funcs: dict[str, int]
    executable: Any

    def __init__(self) -> None:
        self._saved: dict[str, Callable[..., Any]] = {}
        self._kept = threading.local()
        self._profiler: Any = None

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep the arguments of a function for `invoke_stateful`.

        Raises:
            FunctionNotFoundError: there is no such function.
            ArgumentTypeError: their number or names are wrong, or one is no value of the VM.
        """
        self[func_name]
        values: Any = args
        if func_name in self._funcs:
            func = self.executable.function(func_name)
            values = convert(self.executable, func, bind(func, args, kwargs))
        elif kwargs:
            raise ArgumentTypeError(f"native function '{func_name}' takes no names of arguments")
        self._of("inputs")[func_name] = tuple(values)

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function with the inputs that were set; `get_outputs` gives its result.

        Raises:
            StatefulCallError: `set_input` was not called for it in this thread.
        """
        inputs = self._of("inputs").get(func_name)
        if inputs is None:
            self[func_name]
            raise StatefulCallError(
                f"function '{func_name}' has no inputs: call set_input('{func_name}', …)"
            )
        self._of("outputs")[func_name] = self[func_name](*inputs)

    def get_outputs(self, func_name: str) -> Any:
        """Return the result of the last `invoke_stateful` of a function: an array or a tuple.

        Raises:
            StatefulCallError: it was not called in this thread.
        """
        outputs = self._of("outputs")
        if func_name not in outputs:
            self[func_name]
            raise StatefulCallError(
                f"function '{func_name}' has no outputs: call invoke_stateful('{func_name}') first"
            )
        return outputs[func_name]

    def save_function(
        self,
        func_name: str,
        saved_name: str,
        *args: Any,
        include_return: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make `vm[saved_name]()` the call of a function with these arguments.

        Args:
            func_name: the function.
            saved_name: the new name.
            *args: its arguments, converted to values of the VM now.
            include_return: whether the new function returns the result or nothing.
            **kwargs: arguments by name.

        Raises:
            FunctionNotFoundError: there is no such function.
            ArgumentTypeError: the arguments are wrong.
            ValueError: the executable has a function of the new name.
        """
        call = self[func_name]
        if saved_name in self.executable.function_names():
            raise ValueError(f"the executable has a function '{saved_name}' already")
        values: Any = args
        if func_name in self._funcs:
            func = self.executable.function(func_name)
            values = convert(self.executable, func, bind(func, args, kwargs))

        def saved() -> Any:
            result = call(*values)
            return result if include_return else None

        saved.__name__ = saved.__qualname__ = saved_name
        saved.__doc__ = f"Function '{func_name}' with arguments that were saved."
        self._saved[saved_name] = saved

    def invoke_closure(self, closure: Callable[..., Any], *args: Any) -> Any:
        """Call a function that a program returned.

        Args:
            closure: the function.
            args: its arguments, as those of the program's functions.

        Raises:
            ArgumentTypeError: it is no function.
            VMError: what the function raises.
        """
        if not callable(closure) or isinstance(closure, np.ndarray):
            raise ArgumentTypeError(f"invoke_closure takes a function, got {describe(closure)}")
        return as_tensors(to_value(closure(*[to_value(a) for a in args])))

    def profile(self, func_name: str, *args: Any, repeat: int = 1, **kwargs: Any) -> "Report":
        """Run a function and return which of its calls took how long.

        It runs in a machine of its own, where every instruction is timed, after one run that is
        not. Native code that calls native code is one call: what it consists of is in the report
        where the compiler noted it.

        Args:
            func_name: the function.
            *args: its arguments.
            repeat: how often to run it.
            **kwargs: arguments by name.

        Raises:
            FunctionNotFoundError: there is no such function.
            VMError: what the function raises.
        """
        # Who only runs a model has no use for it.
        from relax_mlir.runtime.profiling.profiler import Profiler

        if func_name in self._saved:
            raise FunctionNotFoundError(
                f"'{func_name}' is a saved call: profile the function it is of"
                + did_you_mean(func_name, self._funcs)
            )
        self[func_name]
        with self._lock:
            if self._profiler is None:
                self._profiler = Profiler(self._sibling())
        return self._profiler.run(func_name, args, kwargs, repeat)

    def _sibling(self) -> Any:
        """Return another machine for the same program."""
        raise NotImplementedError

    def _of(self, what: str) -> dict[str, Any]:
        return vars(self._kept).setdefault(what, {})
