"""`testing.env`: what the machine has that tests ask for, under TVM's names."""

from collections.abc import Callable, Iterable

from relax_mlir.errors import missing

# Programs run on CPUs: whatever is asked of these, the answer is no.
_ABSENT = frozenset(
    f"has_{name}"
    for name in (
        "adreno_opencl", "cublas", "cuda", "cuda_compute", "cudagraph", "cudnn", "gpu", "hexagon",
        "hexagon_toolchain", "hipblas", "matrixcore", "metal", "multi_gpu", "nccl", "nvcc_version",
        "nvptx", "nvshmem", "opencl", "rocm", "vulkan",
    )
)  # fmt: skip


def has_llvm() -> bool:
    """Whether programs can be compiled: always, through llvmlite."""
    return True


def has_llvm_min_version(major: int) -> bool:
    """Whether LLVM has at least this major version."""
    import llvmlite.binding as llvm

    return llvm.llvm_version_info[0] >= major


def has_cpu_feature(features: str | Iterable[str]) -> bool:
    """Whether this machine's CPU has a feature, or all of several, in LLVM's spelling."""
    import llvmlite.binding as llvm

    wanted = [features] if isinstance(features, str) else features
    here = llvm.get_host_cpu_features()
    return all(here.get(name, False) for name in wanted)


def has_x86_avx512() -> bool:
    """Whether this machine's CPU has what TVM's AVX-512 kernels need."""
    return has_cpu_feature(("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"))


def has_x86_vnni() -> bool:
    """Whether this machine's CPU has the dot products of bytes of AVX-512."""
    return has_x86_avx512() and has_cpu_feature("avx512vnni")


def build_flag_enabled(flag: str) -> bool:
    """Whether TVM would be built with an option of its build, such as `USE_LLVM`."""
    return flag == "USE_LLVM"


def __getattr__(name: str) -> Callable[..., bool]:
    if name in _ABSENT:
        return lambda *_: False
    raise AttributeError(missing("testing.env", name, {}, [*globals(), *_ABSENT]))
