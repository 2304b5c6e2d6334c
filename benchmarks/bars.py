"""What the project asks of its kernels next to the peers'."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """What is asked of a group of workloads: the ratio of the best peer's time to ours.

    Attributes:
        each: of every workload.
        mean: of the geometric mean.
        bandwidth: of every workload out of the caches, the share of the bandwidth of copying as
            many bytes, or of reading them where it writes next to nothing.
    """

    each: float | None = None
    mean: float | None = None
    bandwidth: float | None = None


BARS = {
    "matmul": Bar(each=1.0),
    "transformer": Bar(each=1.0),
    "small_dtypes": Bar(each=1.0),
    "conv": Bar(each=0.8, mean=1.0),
    "depthwise": Bar(each=0.8, mean=1.0),
    "elementwise": Bar(mean=1.2, bandwidth=0.85),
    "softmax": Bar(mean=1.2, bandwidth=0.85),
    "layernorm": Bar(mean=1.2, bandwidth=0.85),
    "reduction": Bar(mean=1.2, bandwidth=0.85),
    "transpose": Bar(mean=1.2, bandwidth=0.85),
    "attention": Bar(each=1.2),
    "small_attention": Bar(each=1.0),
    "other": Bar(mean=1.0),
    "model": Bar(each=1.0),
    "fused": Bar(),
    "paths": Bar(),
}
DYNAMIC_BAR = 0.95  # the static version's time by that of the one for any size
