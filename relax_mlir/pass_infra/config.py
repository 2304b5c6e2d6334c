"""The options that `PassContext(config={...})` accepts, registered by key."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from relax_mlir.errors import ConfigKeyError, PassTypeError, PipelineError, did_you_mean
from relax_mlir.pass_infra import tir_config


@dataclass(frozen=True)
class ConfigOption:
    """One option: its type, the value where none is given, and what it is for."""

    key: str
    type: type | Callable[..., Any]
    default: Any
    doc: str


_OPTIONS: dict[str, ConfigOption] = {}

# Keys of the options that the infrastructure itself reads.
TRANSITIVE_REQUIRED = "transform.transitive_required"
REQUIRED_ON_CALL = "transform.required_on_call"
VERIFY_EACH = "transform.verify_each"
REPRODUCER = "reproducer"
IMMUTABLE_MODULE = "testing.immutable_module"
COMPILE_CACHE = "relax.compile_cache"
SPLIT_OBJECTS = "relax.split_objects"
PROGRESS = "relax.progress"
# Read by FuseKernels and FuseOps.
FUSE_DEPTH = "relax.FuseOps.max_depth"
# Read by PackWinograd.
WINOGRAD_TILE = "relax.PackWinograd.max_tile"


def register_config_option(
    key: str, type: type | Callable[..., Any], default: Any = None, doc: str = ""
) -> None:
    """Let contexts carry an option under this key; registering the same one again is harmless.

    Raises:
        ValueError: the key is registered with another type.
    """
    known = _OPTIONS.get(key)
    if known is not None and known.type is not type:
        raise PipelineError(f"config option '{key}' is already registered with type {known.type}")
    _OPTIONS[key] = ConfigOption(key, type, default, doc)


def default_of(key: str) -> Any:
    """Return an option's value where a context does not set it.

    Raises:
        AttributeError: there is no such option.
    """
    if key not in _OPTIONS:
        raise _unknown(key)
    return _OPTIONS[key].default


def list_configs() -> dict[str, dict[str, Any]]:
    """Return key to `type`, `default` and `doc` of every registered option."""
    return {
        option.key: {
            "type": getattr(option.type, "__name__", str(option.type)),
            "default": option.default,
            "doc": option.doc,
        }
        for option in sorted(_OPTIONS.values(), key=lambda option: option.key)
    }


def resolve(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values in their registered types; a dict becomes the option's config object.

    Raises:
        AttributeError: an unknown key; names the candidates.
        TypeError: a value does not have, or convert to, the option's type, or there is no dict.
    """
    if not isinstance(given, Mapping):
        raise PassTypeError(
            f"config is a dict of options by key, got {type(given).__name__} {given!r}"
        )
    return _Config({_own(key): _legalise(_own(key), value) for key, value in given.items()})


class _Config(dict[str, Any]):
    """Values by key, and by what newer TVM calls it: `tirx.UnrollLoop` is `tir.UnrollLoop`."""

    def __missing__(self, key: str) -> Any:
        if key == _own(key):
            raise KeyError(key)
        return self[_own(key)]


def _own(key: Any) -> Any:
    return f"tir.{key[5:]}" if isinstance(key, str) and key.startswith("tirx.") else key


def _legalise(key: Any, value: Any) -> Any:
    if not isinstance(key, str):
        raise PassTypeError(
            f"the key of a config option is a str such as 'tir.UnrollLoop', got {key!r}"
        )
    option = _OPTIONS.get(key)
    if option is None:
        raise _unknown(key)
    if value is None:
        raise PassTypeError(f"config option '{key}' cannot be None")
    wanted = option.type
    if isinstance(wanted, type):
        # True is an int to Python, but not to somebody who reads an unrolling depth.
        if isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)):
            return value
        if isinstance(value, Mapping) and wanted is not dict:
            return _object(key, wanted, value)
        if wanted is bool and isinstance(value, int) and value in (0, 1):
            return bool(value)
        if wanted is float and isinstance(value, int):
            return float(value)
        raise PassTypeError(
            f"config option '{key}' wants {wanted.__name__}, got {type(value).__name__} {value!r}"
        )
    try:
        return wanted(value)
    except (TypeError, ValueError) as error:
        raise PassTypeError(f"config option '{key}': {error}") from None


def _object(key: str, wanted: type, fields: Mapping[str, Any]) -> Any:
    """Make a config object of a dict of its fields."""
    if dataclasses.is_dataclass(wanted):
        known = {field.name: field.type for field in dataclasses.fields(wanted)}
        for name, value in fields.items():
            if name not in known:
                raise PassTypeError(
                    f"config option '{key}' has no field '{name}'{did_you_mean(name, known)} "
                    f"fields are: {', '.join(known)}"
                )
            if known[name] in (int, bool) and not isinstance(value, int):
                wants = "int" if known[name] is int else "bool"
                raise PassTypeError(
                    f"config option '{key}': field '{name}' wants {wants}, "
                    f"got {type(value).__name__} {value!r}"
                )
    try:
        return wanted(**fields)
    except (TypeError, ValueError) as error:
        raise PassTypeError(f"config option '{key}': {error}") from None


def _unknown(key: str) -> ConfigKeyError:
    return ConfigKeyError(
        f"Invalid config option '{key}'{did_you_mean(key, _OPTIONS)} "
        f"candidates are: {', '.join(sorted(_OPTIONS))}"
    )


def path(value: "str | os.PathLike[str]") -> str:
    """Return a path as text: the type of options that name a file."""
    return os.fspath(value)


def folder(value: "str | os.PathLike[str] | bool") -> str | bool:
    """Return a folder as text, or whether to use one: the type of options that name a folder."""
    return value if isinstance(value, bool) else os.fspath(value)


def winograd_tile(value: int) -> int:
    """Return how many outputs a tile of a convolution may have along an axis."""
    if isinstance(value, bool) or value not in (0, 2, 4):
        raise ValueError(f"a tile has 2 or 4 outputs along an axis, or 0 for none, got {value!r}")
    return value


def fuse_depth(value: int) -> int:
    """Return how many operations one kernel may stand for."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"a kernel stands for one operation or more, got {value!r}")
    return value


def kept_params(value: bool) -> bool:
    """Return False: LiftTransformParams keeps the weights that its functions take."""
    if value is not False:
        raise ValueError(
            f"weights are kept, so it is False, got {value!r}; LazyTransformParams gets them one "
            "by one, and frees each after its last use"
        )
    return value


register_config_option(
    TRANSITIVE_REQUIRED,
    bool,
    True,
    "Run what required passes require in turn, and none of them again while its result stands; "
    "false is TVM's rule: one level, every time",
)
register_config_option(
    REQUIRED_ON_CALL, bool, False, "Run the required passes also of a pass that is called directly"
)
register_config_option(VERIFY_EACH, bool, True, "Run MLIR's verifier after every pass")
register_config_option(
    REPRODUCER,
    path,
    "",
    "Where to write the module before a pass that fails and the passes that remained",
)
register_config_option(
    IMMUTABLE_MODULE,
    bool,
    False,
    "Check after every pass that the module it was called on is as it was",
)
register_config_option(
    COMPILE_CACHE,
    folder,
    True,
    "Where builds keep native code to find it again: a folder, true for the user's, false for none",
)
register_config_option(
    SPLIT_OBJECTS,
    bool,
    True,
    "Whether the native code of a large program may be several objects, compiled at the same time",
)
register_config_option(
    PROGRESS,
    bool,
    True,
    "Whether a build shows a bar over its kernels, where standard error is a terminal",
)
register_config_option(
    FUSE_DEPTH, fuse_depth, 256, "Most operations of one kernel; 1 leaves every kernel as it is"
)
register_config_option(
    WINOGRAD_TILE,
    winograd_tile,
    4,
    "Most outputs along an axis of the tiles of Winograd's convolutions: 4, 2 (errors are smaller "
    "than those of direct sums), or 0 for direct sums only",
)
register_config_option(
    "relax.lift_transform_params.consume_params",
    kept_params,
    False,
    "Whether transforms of weights free them: TVM's option, of which only false exists",
)
register_config_option(
    tir_config.UNROLL_LOOP,
    tir_config.UnrollLoopConfig,
    tir_config.UnrollLoopConfig(),
    "When the pass UnrollLoop unrolls",
)
register_config_option(
    tir_config.LOOP_PARTITION,
    tir_config.LoopPartitionConfig,
    tir_config.LoopPartitionConfig(),
    "Which loops the pass LoopPartition shortens",
)
register_config_option(
    tir_config.HOIST_IF_THEN_ELSE,
    tir_config.HoistIfThenElseConfig,
    tir_config.HoistIfThenElseConfig(),
    "Which conditions the pass HoistIfThenElse moves",
)
register_config_option(
    tir_config.DISABLE_VECTORIZE, bool, False, "Let the pass VectorizeLoop make loops serial"
)
