"""What a profiler measured of the kernels of one call."""

from pydantic import Field

from kb.types.base import Recorded

DURATION_NS = "gpu__time_duration.sum"
METRICS = (
    DURATION_NS,
    "sm__cycles_active.avg",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__inst_executed.sum",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__bytes.sum.per_second",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "l1tex__t_sector_hit_rate.pct",
    "lts__throughput.avg.pct_of_peak_sustained_active",
    "lts__t_sector_hit_rate.pct",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct",
    "smsp__warp_issue_stalled_short_scoreboard_per_warp_active.pct",
    "smsp__warp_issue_stalled_barrier_per_warp_active.pct",
    "smsp__warp_issue_stalled_branch_resolving_per_warp_active.pct",
    "smsp__inst_executed_op_local_ld.sum",
    "launch__registers_per_thread",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__waves_per_multiprocessor",
)
"""Names of Nsight Compute's metrics: those that CudaForge (arXiv:2511.01884) found to go with run times, and spills."""
WORDS = {
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory at {:.0f} % of its peak",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "multiprocessors at {:.0f} %",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active": "tensor cores at {:.0f} %",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "{:.0f} % of the most possible warps active",
    "lts__t_sector_hit_rate.pct": "{:.0f} % hits in L2",
    "l1tex__t_sector_hit_rate.pct": "{:.0f} % hits in L1",
    "launch__registers_per_thread": "{:.0f} registers per thread",
    "smsp__inst_executed_op_local_ld.sum": "{:,.0f} loads of spilled registers",
}
"""What people read of them."""
STALLED = "smsp__warp_issue_stalled_"
STALLS = {
    "long_scoreboard": "for global or local memory",
    "short_scoreboard": "for shared memory or special functions",
    "barrier": "at barriers",
    "branch_resolving": "for branches",
}
"""For what warps wait most, by the part of the metric's name (Nsight Compute, "Warp Stall Reasons")."""


class KernelProfile(Recorded):
    """One kernel of a call."""

    kernel: str
    launches: int
    microseconds: float
    """Time of all its launches, each with cold caches."""
    metrics: dict[str, float]
    """Of its longest launch, by Nsight Compute's names, in its base units."""

    @property
    def stall(self) -> str:
        """For what its warps wait most, by the names of STALLS; empty if that was not measured."""
        shares = {name: self.metrics.get(f"{STALLED}{name}_per_warp_active.pct", 0.0) for name in STALLS}
        longest = max(shares, key=lambda name: shares[name])
        return longest if shares[longest] else ""

    def __str__(self) -> str:
        measured = [words.format(self.metrics[name]) for name, words in WORDS.items() if self.metrics.get(name)]
        if self.stall:
            share = self.metrics[f"{STALLED}{self.stall}_per_warp_active.pct"]
            measured.append(f"warps wait {STALLS[self.stall]} {share:.0f} % of the time")
        often = f", {self.launches} launches" if self.launches > 1 else ""
        return f"kernel {self.kernel}: {self.microseconds:,.1f} us{often}; {', '.join(measured)}"


class Profile(Recorded):
    """The kernels of one call, by NVIDIA's Nsight Compute."""

    kernels: tuple[KernelProfile, ...] = Field(min_length=1)
    """Those that took longest, the longest first."""
    launches: int
    """Of all kernels, as far as they were profiled."""
    microseconds: float
    """Time of all these launches."""
    missing: tuple[str, ...] = ()
    """Metrics that this GPU or this version lacks."""
