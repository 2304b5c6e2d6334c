"""Runtime modules: functions by name, and other modules that they use."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from relax_mlir.errors import FunctionNotFoundError, ModuleCycleError, did_you_mean
from relax_mlir.runtime.profiling.timed import Timed

# One lock for all: two modules that import each other at a time are a cycle too.
_IMPORT_LOCK = threading.Lock()


class Module(Timed):
    """Functions by name. An Executable is one, a loaded library another.

    Attributes:
        kind: what sort of module it is.
        entry_name: the function that calling the module calls.
    """

    kind = "functions"
    entry_name = "main"

    def __init__(self, functions: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self._functions = dict(functions or {})
        self._imports: list[Module] = []

    def function_names(self) -> tuple[str, ...]:
        """Return the names of the module's own public functions."""
        return tuple(self._functions)

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return a function of this module alone, or None; subclasses say where theirs are."""
        return self._functions.get(name)

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any] | None:
        """Return a function by name, None when there is none; `module[name]` raises instead.

        Args:
            name: the function's name.
            query_imports: whether to look in the imported modules next, in their order, and theirs.
        """
        func = self.find_function(name)
        return self.imported_function(name) if func is None and query_imports else func

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Return whether there is a function of this name."""
        return self.get_function(name, query_imports) is not None

    def imported_function(self, name: str) -> Callable[..., Any] | None:
        """Return the first function of this name in the imported modules, or None."""
        for module in self._imports:
            func = module.get_function(name, query_imports=True)
            if func is not None:
                return func
        return None

    @property
    def imported_modules(self) -> tuple["Module", ...]:
        """The modules that were imported, in that order."""
        return tuple(self._imports)

    def import_module(self, module: "Module") -> None:
        """Let this module use another one's functions.

        Raises:
            TypeError: not a module.
            ModuleCycleError: the other one imports this one, directly or through others.
        """
        if not isinstance(module, Module):
            raise TypeError(f"only a runtime.Module can be imported, got {module!r}")
        with _IMPORT_LOCK:
            path = module._path_to(self)
            if path is not None:
                chain = " -> ".join(repr(m) for m in (self, *path))
                raise ModuleCycleError(f"modules cannot import each other in a circle: {chain}")
            if not any(m is module for m in self._imports):
                self._imports.append(module)

    def _path_to(self, target: "Module") -> list["Module"] | None:
        if self is target:
            return [self]
        for module in self._imports:
            rest = module._path_to(target)
            if rest is not None:
                return [self, *rest]
        return None

    def all_modules(self) -> Iterator["Module"]:
        """Yield this module and those it uses, each once."""
        seen: list[Module] = []
        todo: list[Module] = [self]
        while todo:
            module = todo.pop(0)
            if not any(module is m for m in seen):
                seen.append(module)
                todo += module._imports
                yield module

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function of this module or of those it imports.

        Raises:
            FunctionNotFoundError: there is none of that name; suggests one.
        """
        func = self.get_function(name, query_imports=True)
        if func is None:
            names = [n for module in self.all_modules() for n in module.function_names()]
            raise FunctionNotFoundError(
                f"the module has no function '{name}'{did_you_mean(str(name), names)}"
                f" (it has: {', '.join(names) or 'none'})"
            )
        return func

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function by its name, as an attribute."""
        func = None if name.startswith("_") else self.get_function(name, query_imports=True)
        if func is None:
            raise AttributeError(f"a {type(self).__name__} has no attribute or function '{name}'")
        return func

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function `main`."""
        return self[self.entry_name](*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Module {self.kind} [{', '.join(self.function_names())}]>"
