"""What native code is made for: a triple, a CPU, its features, and how hard to optimize."""

import contextvars
import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import llvmlite.binding as llvm

from relax_mlir.errors import PipelineError
from relax_mlir.lowering.target.amx_permission import request_amx
from relax_mlir.lowering.target.caches import cache_bytes
from relax_mlir.lowering.target.cpu_count import default_threads
from relax_mlir.lowering.target.cpu_names import check_cpu, check_features
from relax_mlir.lowering.target.isa.isa import Instruction, Isa
from relax_mlir.lowering.target.isa.known import find_isa
from relax_mlir.lowering.target.isa.sse4_2 import AMD, X86
from relax_mlir.lowering.target.options import number, options_of, text_of

# The text of the target of builds that name none.
ENVIRONMENT = "RELAX_MLIR_TARGET"
DEFAULT_OPT_LEVEL = 2
# What a CPU's name implies for the questions below; LLVM itself knows the rest.
_AVX2 = ("avx2", "fma", "f16c")
_AVX512 = (*_AVX2, "avx512f", "avx512bw", "avx512dq", "avx512vl")
_VNNI = (*_AVX512, "avx512vnni")
_BF16 = (*_VNNI, "avx512bf16")
_AMX = (*_BF16, "amx-tile", "amx-bf16", "amx-int8")
# CPUs that split vectors of 64 bytes, as if there were one FMA unit.
_HALVED = ("znver4",)
_IMPLIED = {
    **dict.fromkeys(("x86-64-v3", "haswell", "broadwell", "skylake"), _AVX2),
    "alderlake": (*_AVX2, "avxvnni"),
    **dict.fromkeys(("znver1", "znver2", "znver3"), (*_AVX2, AMD)),
    **dict.fromkeys(("x86-64-v4", "skylake-avx512"), _AVX512),
    **dict.fromkeys(("cascadelake", "icelake-server"), _VNNI),
    **dict.fromkeys(("znver4", "znver5"), (*_BF16, AMD)),
    **dict.fromkeys(("sapphirerapids", "emeraldrapids", "graniterapids"), _AMX),
}


@functools.lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


@functools.lru_cache(maxsize=1)
def _host() -> tuple[str, str, str]:
    _initialize()
    features = llvm.get_host_cpu_features()
    # Sorted, so that equal machines give equal targets whatever order the host lists them in.
    flat = ",".join(("+" if on else "-") + name for name, on in sorted(features.items()))
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), flat


@dataclass(frozen=True)
class TargetKind:
    """What generates code for a target; `llvm`, the only one.

    Attributes:
        name: of the kind.
    """

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, init=False, repr=False)
class Target:
    """A machine to compile for, as TVM spells it: `llvm -mcpu=x86-64-v3`.

    Inside `with Target(...)` it is what builds are for that are given none.

    Attributes:
        triple: LLVM's target triple.
        cpu: LLVM's name of the CPU.
        features: LLVM's feature string, such as `+avx2,-avx512f`.
        opt_level: 0 to 3, for LLVM's optimizer and its code generator; what 3 adds, such as copies
            of loops for each case of a condition, takes twice as long and gains nothing here.
        threads: most threads that a kernel may use; with 1, parallel loops are compiled as serial
            ones. The default is `default_threads` on this machine, and 1 on others.
        attrs: its options as they were given, by name.
    """

    triple: str
    cpu: str
    features: str
    opt_level: int
    threads: int
    attrs: Mapping[str, str] = field(compare=False)

    def __init__(self, target: Any = "llvm", host: Any = None) -> None:
        """Make a target of TVM's text or dictionary of options, or of another target.

        Without `-mcpu` and `-mtriple` it is the machine this process runs on, with all its
        features; another triple starts from `generic`.

        Args:
            target: such as `llvm -mcpu=native -mattr=+avx2`, or
                `{"kind": "llvm", "mcpu": "x86-64-v3"}`.
            host: another target, checked; everything runs on the target itself.

        Raises:
            PipelineError: unknown kind, option, CPU or feature, or a malformed value.
        """
        if host is not None:
            Target(host)
        # The class is frozen.
        if isinstance(target, Target):
            vars(self).update(vars(target))
            return
        given = options_of(target)
        triple, cpu, features = _host()
        threads = default_threads()
        if given.get("mtriple", triple) != triple:
            triple, cpu, features, threads = given["mtriple"], "generic", "", 1
        wanted = given.get("mcpu", "native")
        if wanted not in ("native", cpu):
            check_cpu(triple, wanted, _IMPLIED)
            cpu, features = wanted, ""
        if "mattr" in given:
            check_features(triple, cpu, given["mattr"])
        vars(self).update(
            triple=triple,
            cpu=cpu,
            features=",".join(part for part in (features, given.get("mattr", "")) if part),
            opt_level=number(given, "opt-level", DEFAULT_OPT_LEVEL, range(4)),
            threads=number(given, "num-threads", threads, range(1, 1 << 16)),
            attrs=given,
        )
        self.machine()

    @property
    def kind(self) -> TargetKind:
        """What generates its code."""
        return TargetKind("llvm")

    @property
    def host(self) -> "Target":
        """Itself: what runs a program is what its kernels are for."""
        return self

    def export(self) -> dict[str, str]:
        """Return the dictionary that `Target` takes."""
        return {"kind": self.kind.name, **self.attrs}

    def __str__(self) -> str:
        return text_of(self.kind.name, self.attrs)

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    @staticmethod
    def current(allow_none: bool = True) -> "Target | None":
        """Return the target of the innermost `with`.

        Raises:
            PipelineError: there is none, and `allow_none` is false.
        """
        inside = _ENTERED.get()
        if not inside and not allow_none:
            raise PipelineError("there is no current target: write `with target.Target(...):`")
        return inside[-1] if inside else None

    @staticmethod
    def default() -> "Target":
        """Return what a build is for that is given no target.

        It is that of the innermost `with`, else of the environment variable `RELAX_MLIR_TARGET`,
        else the machine this process runs on.

        Raises:
            PipelineError: the variable names what there is not.
        """
        current = Target.current()
        text = os.environ.get(ENVIRONMENT, "")
        if current is not None or not text:
            return current or Target()
        try:
            return Target(text)
        except PipelineError as error:
            raise PipelineError(f"environment variable {ENVIRONMENT}: {error}") from error

    @staticmethod
    def from_device(device: Any) -> "Target":
        """Return the target of a device: this machine, the only one that there is."""
        return Target()

    def __enter__(self) -> "Target":
        _ENTERED.set((*_ENTERED.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _ENTERED.set(_ENTERED.get()[:-1])

    @property
    def settings(self) -> dict[str, Any]:
        """What code depends on: the fields without the options that gave them."""
        return {
            "triple": self.triple,
            "cpu": self.cpu,
            "features": self.features,
            "opt_level": self.opt_level,
            "threads": self.threads,
        }

    @property
    def arch(self) -> str:
        """The triple's first part, such as `x86_64`."""
        return self.triple.split("-", 1)[0]

    def has(self, feature: str) -> bool:
        """Whether the features, or else the CPU's name, turn a feature on; the last one wins."""
        implied = feature in _IMPLIED.get(self.cpu, ())
        return self._given_features.get(feature, implied)

    @functools.cached_property
    def _given_features(self) -> dict[str, bool]:
        return {part[1:]: part[0] == "+" for part in self.features.split(",") if part}

    @functools.cached_property
    def isa(self) -> Isa:
        """The instruction set of its vectors."""
        return find_isa(self.arch, self.has)

    @property
    def vector_bits(self) -> int:
        """Width of the widest vector register that floats are computed in."""
        return self.isa.vector_bits

    @property
    def max_vector_registers(self) -> int:
        """How many vector registers there are."""
        return self.isa.vector_registers

    @property
    def dot_products(self) -> tuple[str, ...]:
        """Which instructions for products of small numbers pay, as `Machine.dot_products` names."""
        if not all(map(self.has, self.isa.dot_needs)):
            return ()
        return tuple(each.kind for each in self.isa.dot_products if self._pays(each))

    def _pays(self, instruction: Instruction) -> bool:
        if not all(map(self.has, instruction.needs)):
            return False
        if instruction.matrices and not self._gives_matrices:
            return False
        return not instruction.cpus or self.cpu in instruction.cpus

    @property
    def gathers(self) -> bool:
        """Whether a gather is quicker than loads one by one."""
        slow = self.isa.slow_gathers
        return self.isa.gathers and not (slow and self.has(slow))

    @property
    def fma_units(self) -> int:
        """FMAs of whole vectors that a core starts in a cycle."""
        return 1 if self.vector_bits == 512 and self.cpu in _HALVED else 2

    @property
    def _gives_matrices(self) -> bool:
        """Whether the system gives registers for matrices, which a process has to ask for."""
        if self.arch != "x86_64" or "linux" not in self.triple:
            return False
        return (self.triple, self.cpu) != _host()[:2] or request_amx()

    @property
    def cache_bytes(self) -> tuple[int, int, int]:
        """Sizes of a core's L1d and L2, and of the last-level cache."""
        triple, cpu, _ = _host()
        return cache_bytes(self.cpu, (self.triple, self.cpu) == (triple, cpu))

    @property
    def has_fma(self) -> bool:
        """Whether a fused multiply-add is one instruction; else it would be a library call."""
        return not self.isa.fma or self.has(self.isa.fma)

    @property
    def has_float_parts(self) -> bool:
        """Whether instructions split floats into mantissa and exponent, and scale them."""
        needs = self.isa.float_parts
        return needs is not None and all(map(self.has, needs))

    @property
    def has_wide_registers(self) -> bool:
        """Whether 64-bit integers are kept in general registers."""
        return self.arch in ("x86_64", "aarch64", "arm64", "riscv64")

    @property
    def reads_assembly(self) -> bool:
        """Whether LLVM reads assembly code for it here: only this machine's, as ELF has it."""
        return self.triple == _host()[0] and "linux" in self.triple

    def with_threads(self, threads: int) -> "Target":
        """Return the same target for kernels of at most so many threads."""
        made = Target(self)
        attrs = {**self.attrs, "num-threads": str(threads)}
        vars(made).update(threads=threads, attrs=attrs)
        return made

    def serial(self) -> "Target":
        """Return the same target without threads, for code that has none."""
        return self.with_threads(1)

    def machine(self) -> llvm.TargetMachine:
        """Return a new LLVM target machine that emits position-independent code.

        On x86-64 an object's code and constants are taken to lie within 2 GB, as any linker sees
        to, LLVM's own for code in memory too. Else each constant's address would take a register,
        and loops would load constants in each step for want of those.

        Raises:
            PipelineError: this LLVM has no such triple.
        """
        _initialize()
        try:
            result = llvm.Target.from_triple(self.triple)
        except RuntimeError as error:
            raise PipelineError(f"unknown target triple '{self.triple}': {error}") from error
        return result.create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=self._emission_level,
            reloc="pic",
            codemodel="small" if self.arch in X86 else "jitdefault",
        )

    @property
    def _emission_level(self) -> int:
        """How hard code generation tries.

        What 2 adds to 1 on x86 is a last ordering of instructions, which such processors do
        themselves: it takes a tenth of the time and makes no kernel quicker.
        """
        return 1 if self.arch in X86 and self.opt_level == 2 else self.opt_level


_ENTERED: contextvars.ContextVar[tuple[Target, ...]] = contextvars.ContextVar("target", default=())
