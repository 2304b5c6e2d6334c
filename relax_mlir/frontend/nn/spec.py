"""What the inputs of a module's methods are: shapes, dtypes, integers, tuples."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_MODES = ("plain", "packed", "none")


class Int:
    """An integer."""

    def __repr__(self) -> str:
        return "int"


class Tensor:
    """A tensor; its shape has integers and names of symbols."""

    def __init__(self, shape: Sequence[Any], dtype: str) -> None:
        self.shape: list[Any] = list(shape)
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], '{self.dtype}')"


class Object:
    """Something opaque, a class derived from `nn.Object` says what."""

    def __init__(self, object_type: type) -> None:
        self.object_type = object_type

    def __repr__(self) -> str:
        return "object"


class Tuple:
    """A tuple or a list of inputs."""

    def __init__(self, name: str, elements: list[Any] | tuple[Any, ...]) -> None:
        if not isinstance(elements, (list, tuple)):
            raise TypeError(f"Unsupported container type: {type(elements)}")
        self.name = name
        self.elements = elements

    def __repr__(self) -> str:
        return repr(self.elements)


class MethodSpec:
    """The inputs of a method.

    Args:
        method: the method.
        arg_names: its arguments.
        arg_specs: what they are.
        param_mode: whether weights are parameters each (`plain`), one tuple (`packed`), or `none`.
        effect_mode: the same of effects.
    """

    def __init__(
        self, method: Callable[..., Any], arg_names: list[str], arg_specs: list[Any],
        param_mode: str, effect_mode: str,
    ) -> None:  # fmt: skip
        for what, mode in (("param_mode", param_mode), ("effect_mode", effect_mode)):
            if mode not in _MODES:
                raise ValueError(f"Invalid {what}: {mode}; it is one of {', '.join(_MODES)}")
        self.method = method
        self.arg_names: list[str] = arg_names
        self.arg_specs: list[Any] = arg_specs
        self.param_mode: str = param_mode
        self.effect_mode: str = effect_mode

    def __repr__(self) -> str:
        return self.render("MethodSpec")

    def render(self, name: str) -> str:
        """Return the method as a call with the specifications of its arguments."""
        pairs = zip(self.arg_names, self.arg_specs, strict=True)
        return f"{name}({', '.join(f'{arg}: {spec}' for arg, spec in pairs)})"

    @staticmethod
    def from_raw(spec: Any, method: Callable[..., Any]) -> "MethodSpec":
        """Return a dictionary by argument as a MethodSpec; its `"$"` holds the two modes."""
        if isinstance(spec, MethodSpec):
            return spec
        modes = spec.get("$", {})
        given = [name for name in inspect.signature(method).parameters if name in spec]
        return MethodSpec(
            method, given, [_argument(spec[name], name) for name in given],
            param_mode=modes.get("param_mode", "plain"),
            effect_mode=modes.get("effect_mode", "plain"),
        )  # fmt: skip

    @staticmethod
    def from_torch(args: list[Any], method: Callable[..., Any]) -> "MethodSpec":
        """Return what a method's inputs are, given examples: torch tensors and integers."""
        names = list(inspect.signature(method).parameters)
        if len(names) != len(args):
            raise TypeError(f"Expected {len(names)} arguments, but got {len(args)} arguments")
        return MethodSpec(method, names, [_of_example(each) for each in args], "plain", "plain")


def _argument(spec: Any, name: str) -> Any:
    if spec is Int or spec is int or spec == "int":
        return Int()
    if isinstance(spec, (Int, Tensor, Object)):
        return spec
    if isinstance(spec, Tuple):
        spec = spec.elements
    if isinstance(spec, (list, tuple)):
        fields = [_argument(each, f"{name}_{index}") for index, each in enumerate(spec)]
        return Tuple(name, type(spec)(fields))
    raise TypeError(f"Invalid spec for argument {name}: {spec}")


def _of_example(example: Any) -> Any:
    if isinstance(example, int):
        return Int()
    if hasattr(example, "shape") and hasattr(example, "dtype"):
        return Tensor(list(example.shape), str(example.dtype).rpartition(".")[2])
    raise TypeError(f"Unsupported argument type: {type(example)}")


class ModuleSpec:
    """The methods of a module that become functions."""

    def __init__(
        self, module: Any, method_names: list[str], method_specs: list[MethodSpec]
    ) -> None:
        self.module = module
        self.method_names: list[str] = method_names
        self.method_specs: list[MethodSpec] = method_specs

    @staticmethod
    def from_raw(spec: "ModuleSpec | Mapping[str, Any]", module: Any) -> "ModuleSpec":
        """Return a dictionary by method as a ModuleSpec."""
        if isinstance(spec, ModuleSpec):
            return spec
        specs = [MethodSpec.from_raw(each, getattr(module, name)) for name, each in spec.items()]
        return ModuleSpec(module, list(spec), specs)

    def __repr__(self) -> str:
        pairs = zip(self.method_names, self.method_specs, strict=True)
        return "\n".join(["ModuleSpec:", *(f"  {spec.render(name)}" for name, spec in pairs)])
