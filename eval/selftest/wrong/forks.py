"""Correct, but starts a process that tries to outlive it."""

import os
import signal

import torch
from torch import nn


def stay() -> None:
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    print("left behind:", os.getpid(), flush=True)
    while True:
        signal.pause()


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        if os.fork() == 0:
            stay()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x + 1
