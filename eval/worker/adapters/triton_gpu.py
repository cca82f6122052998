"""The worker's adapter for `triton` on a GPU: what Triton tunes itself takes less time.

A judge calls a candidate at many sizes, and Triton's autotuner tries all configurations at each.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from eval.worker.adapters.gpu import GpuCandidate, warm
from eval.worker.channel import Message

__all__ = ["load", "warm"]

WARMUP_MS, REP_MS = 5, 20
"""How long the autotuner times a configuration whose author names no times; Triton's defaults are 25 and 100 ms."""


class TritonCandidate(GpuCandidate):
    def _built(self, folder: Path, question: Message, state: dict[str, Any]) -> Any:
        _tune_quickly()
        return super()._built(folder, question, state)


load = TritonCandidate


def _tune_quickly() -> None:
    """Let the autotuner compile the configurations of a kernel at the same time, and time them for a shorter time."""
    import triton.testing
    from triton import AsyncCompileMode
    from triton.runtime.autotuner import Autotuner

    prune = Autotuner.prune_configs

    def pruned_and_compiled(tuner: Any, keywords: dict[str, Any]) -> list[Any]:
        configs: list[Any] = prune(tuner, keywords)
        with ThreadPoolExecutor(os.cpu_count()) as pool, AsyncCompileMode(pool, ignore_errors=True):
            for config in configs:
                if config.pre_hook is None:  # it may decide what is compiled
                    tuner.fn.run(*tuner.nargs.values(), **{**keywords, **config.all_kwargs(), "warmup": True})
        return configs

    Autotuner.prune_configs = pruned_and_compiled
    triton.testing.do_bench = partial(triton.testing.do_bench, warmup=WARMUP_MS, rep=REP_MS)
