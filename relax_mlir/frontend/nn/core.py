"""Modules of `frontend.nn`, and containers of modules and parameters."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from relax_mlir.frontend.nn import spec as specs
from relax_mlir.frontend.nn.effects import Effect
from relax_mlir.frontend.nn.exporter import Exporter, Object, attributes_of
from relax_mlir.frontend.nn.jit import compiled
from relax_mlir.frontend.nn.subroutine import SubroutineMixin
from relax_mlir.frontend.nn.tensor import (
    Parameter,
    Tensor,
    get_default_dtype,
    set_default_dtype,
    wrap_nested,
)

__all__ = [
    "Effect", "Module", "ModuleDict", "ModuleList", "Object", "Parameter", "ParameterDict",
    "ParameterList", "Tensor", "get_default_dtype", "set_default_dtype", "wrap_nested",
]  # fmt: skip


class Module(SubroutineMixin):
    """A part of a model: parameters, other modules, and a method `forward`."""

    def named_children(self) -> list[tuple[str, Any]]:
        """Return attributes by name, in order of definition."""
        return list(self.__dict__.items())

    def set_child(self, name: str, value: Any) -> None:
        """Replace an attribute."""
        setattr(self, name, value)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters, also of modules inside, by dotted name."""
        return attributes_of(self, lambda item: isinstance(item, Parameter), prefix)

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters, also of modules inside."""
        return (param for _, param in self.named_parameters())

    def state_dict(
        self, *, prefix: str = "", destination: dict[str, Parameter] | None = None
    ) -> dict[str, Parameter]:
        """Return the parameters by dotted name.

        Args:
            prefix: of the names.
            destination: a dictionary to add them to.
        """
        result = OrderedDict() if destination is None else destination
        result.update(self.named_parameters(prefix))
        return result

    def load_state_dict(
        self, state_dict: Mapping[str, Parameter], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Take numbers from the parameters of another module.

        Args:
            state_dict: parameters by name.
            strict: whether names that only one of both has are an error.

        Returns:
            Names that are missing, and names that nothing here has.

        Raises:
            KeyError: there are such names, and `strict`.
            ValueError: a parameter has no numbers.
        """
        own = self.state_dict()
        unexpected = [key for key in state_dict if key not in own]
        for key, value in state_dict.items():
            if key in own:
                if value.data is None:
                    raise ValueError(f"Parameter {key} is not set to any concrete tensor")
                own.pop(key).data = value.data
        missing = list(own)
        if strict and (missing or unexpected):
            raise KeyError(f"Missing keys: {missing}, Unexpected keys: {unexpected}")
        return missing, unexpected

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`.

        Raises:
            NotImplementedError: the class has none.
        """
        if not hasattr(self, "forward"):
            raise NotImplementedError(f"Module {type(self)} does not have a `forward` method")
        return self.forward(*args, **kwargs)  # type: ignore[attr-defined]

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of parameters and effects, and of an attribute `dtype`."""
        for _, item in self.named_children():
            if callable(getattr(item, "to", None)):
                item.to(dtype=dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    def export_tvm(self, spec: Any, debug: bool = False, allow_extern: bool = False) -> Any:
        """Return the IRModule of the methods that a specification names, and the parameters.

        Args:
            spec: `{"forward": {"x": nn.spec.Tensor([1, "n"], "float32")}}`, or a `ModuleSpec`.
            debug: whether `print_` and `debug_func` work.
            allow_extern: whether external modules are a third result.

        Raises:
            ValueError: there are external modules, and they are not allowed.
        """
        made = Exporter(debug).build(specs.ModuleSpec.from_raw(spec, self))
        if allow_extern:
            return made
        module, params, extern = made
        if extern:
            raise ValueError("the module has `ExternModule`s; allow_extern=True gives them too")
        return module, params

    def jit(
        self, spec: Any, device: Any = "cpu", pipeline: Any = "default_build",
        out_format: str = "torch", debug: bool = False,
    ) -> Any:  # fmt: skip
        """Compile the methods that a specification names.

        Args:
            spec: as for `export_tvm`.
            device: `cpu`.
            pipeline: as `relax_pipeline` of `relax_mlir.compile`.
            out_format: `torch`: methods take and give tensors of PyTorch.
            debug: as for `export_tvm`.

        Returns:
            What has the methods by name: `model["forward"](x)`.

        Raises:
            ValueError: a parameter has no numbers, or there is no such format.
        """
        result = specs.ModuleSpec.from_raw(spec, self)
        module, params, _ = Exporter(debug).build(result)
        return compiled(module, result, params, device, pipeline, out_format)


class _Items(Module):
    """A module that is a container; `kind` says of what."""

    kind: type = object

    def _checked(self, item: Any) -> Any:
        if not isinstance(item, self.kind):
            raise TypeError(
                f"{type(self).__name__} elements must be nn.{self.kind.__name__}, but got "
                f"{type(item).__name__}"
            )
        return item

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of what is inside."""
        for _, item in self.named_children():
            item.to(dtype=dtype)


class _List(_Items):
    def __init__(self, items: Iterable[Any] | None = None) -> None:
        self._list = [self._checked(item) for item in items or ()]

    def named_children(self) -> list[tuple[str, Any]]:
        """Return the elements by their numbers."""
        return [(str(index), item) for index, item in enumerate(self._list)]

    def set_child(self, name: str, value: Any) -> None:
        """Replace an element."""
        self._list[int(name)] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list)

    def __getitem__(self, idx: int) -> Any:
        return self._list[idx]

    def __setitem__(self, idx: int, item: Any) -> None:
        self._list[idx] = self._checked(item)

    def __len__(self) -> int:
        return len(self._list)

    def append(self, item: Any) -> None:
        """Add an element."""
        self._list.append(self._checked(item))

    def extend(self, items: Iterable[Any]) -> None:
        """Add elements."""
        for item in items:
            self.append(item)


class _Dict(_Items):
    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self._dict: dict[str, Any] = OrderedDict()
        self.update(items or {})

    def named_children(self) -> list[tuple[str, Any]]:
        """Return the items."""
        return list(self._dict.items())

    def set_child(self, name: str, value: Any) -> None:
        """Replace an item."""
        self._dict[name] = value

    def __getitem__(self, key: str) -> Any:
        return self._dict[key]

    def __setitem__(self, key: str, item: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                f"{type(self).__name__} keys must be strings, but got {type(key).__name__}"
            )
        self._dict[key] = self._checked(item)

    def __len__(self) -> int:
        return len(self._dict)

    def __contains__(self, key: str) -> bool:
        return key in self._dict

    def keys(self) -> Any:
        """Return the names."""
        return self._dict.keys()

    def values(self) -> Any:
        """Return what the names stand for."""
        return self._dict.values()

    def items(self) -> Any:
        """Return names and what they stand for."""
        return self._dict.items()

    def get(self, key: str, default: Any = None) -> Any:
        """Return an item, the default where there is none."""
        return self._dict.get(key, default)

    def update(self, items: Mapping[str, Any]) -> None:
        """Add and replace items."""
        for key, item in items.items():
            self[key] = item

    def clear(self) -> None:
        """Remove all items."""
        self._dict.clear()

    def pop(self, key: str) -> Any:
        """Remove an item and return it."""
        return self._dict.pop(key)


class ModuleList(_List):
    """A list of modules; called, they run one after the other."""

    kind = Module

    def forward(self, x: Any) -> Any:
        """Run the modules, each on the result of the one before."""
        for module in self:
            x = module(x)
        return x


class ParameterList(_List):
    """A list of parameters."""

    kind = Parameter


class ModuleDict(_Dict):
    """Modules by name; iterating gives the modules."""

    kind = Module

    def __iter__(self) -> Iterator[Module]:
        return iter(self._dict.values())


class ParameterDict(_Dict):
    """Parameters by name; iterating gives the names."""

    kind = Parameter

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict)
