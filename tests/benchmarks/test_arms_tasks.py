"""Tasks of KernelBench get sizes that suit a CPU, by a rule that reads no time."""

import json
from pathlib import Path

import pytest

from benchmarks.arms_tasks import DRAWN, EACH, LEFT_OUT, MOST_BYTES, MOST_FLOP, needs, sized, small_sizes
from eval.oracle.constants import integer_constants
from eval.oracle.task import task_of

SOURCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, channels, 3)

    def forward(self, x):
        return self.conv(x)

batch, channels = 64, 32
height = width = 512

def get_inputs():
    return [torch.rand(batch, channels, height, width)]

def get_init_inputs():
    return [channels]
"""


def test_the_largest_size_is_halved_until_a_call_is_small(tmp_path: Path) -> None:
    file = tmp_path / "1_conv.py"
    file.write_text(SOURCE)

    sizes = small_sizes(file)
    assert sizes == {"batch": 32, "channels": 32, "height": 32, "width": 32}
    assert integer_constants(task_of(sized(file, sizes), name="conv", place="here")) == sizes
    flop, size_bytes = needs(sized(file, sizes))
    assert 0 < flop <= MOST_FLOP
    assert 0 < size_bytes <= MOST_BYTES


@pytest.mark.parametrize("level", LEFT_OUT)
def test_the_drawn_tasks_are_as_many_as_the_rule_says_and_none_is_left_out(level: str) -> None:
    drawn = [name.split("/")[1] for name in json.loads(DRAWN.read_text(encoding="utf-8"))["tasks"] if level in name]

    assert len(drawn) == EACH
    assert LEFT_OUT[level].isdisjoint(int(name.split("_")[0]) for name in drawn)
