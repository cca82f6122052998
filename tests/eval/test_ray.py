"""A batch on a real Ray cluster of this machine, by the real judge; the rules are in test_cluster.py."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from eval.batch.pack import read_verdict, write_batch
from eval.languages.registry import language_named
from eval.oracle.task import load_task
from kb.errors import is_installed
from kb.types.kernels import Candidate
from kb.types.protocols import Proposal
from tests.eval.batches import batch_of, entry
from tests.eval.judging import needs_linux

pytestmark = [
    needs_linux,
    pytest.mark.slow,
    pytest.mark.skipif(not is_installed("ray"), reason="the extra `ray` is not installed"),
]

ROOT = Path(__file__).parents[2]
FORWARD = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        {}\n"
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
head = {"num_cpus": 0, "include_dashboard": False, "temp_dir": sys.argv[1], "ray_client_server_port": int(sys.argv[2])}
cluster = Cluster(initialize_head=True, head_node_args=head)
for number in range(2):
    cluster.add_node(num_cpus=1, temp_dir=f"{sys.argv[1]}/{number}")
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
WRONG = {"bad_output": "return (2 * x + 1).flatten()", "incorrect": "return 2 * x + 1.01", "raised": "raise ValueError"}


class Ray(NamedTuple):
    address: str
    client_port: int


@pytest.fixture(scope="module")
def ray() -> Iterator[Ray]:
    """A cluster of a head that judges nothing and two nodes."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="r") as folder:
        Path(folder, "ray").mkdir()  # Ray keeps the address of the latest cluster there
        command, environment = [sys.executable, "-c", CLUSTER, folder, str(port)], os.environ | {"RAY_TMPDIR": folder}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, **pipes, env=environment, text=True) as process:
            assert process.stdout
            yield Ray(process.stdout.readline().strip(), port)
            process.communicate()


def judged(folder: Path, pool: str, ray: Ray, *options: str) -> tuple[int, list[str], str]:
    """Exit status, output and errors of `python -m eval` in a folder."""
    command = [sys.executable, "-m", "eval", "--pool", pool, *options]
    environment = os.environ | {"RAY_ADDRESS": ray.address, "PYTHONPATH": ""}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=250, check=False
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("is_client", [False, True], ids=["ray", "ray://"])
def test_nodes_judge_as_this_machine_does(tmp_path: Path, ray: Ray, is_client: bool) -> None:
    task, language = load_task(ROOT / "eval" / "selftest" / "tasks" / "scale.py"), "torch"
    given = [Candidate(language=language_named(language).name, source=FORWARD.format(line)) for line in WRONG.values()]
    entries = [entry("", task=task) for _ in given]
    proposals = [Proposal(candidate=one) for one in given]
    batch = batch_of(*(e.model_copy(update={"proposal": p}) for e, p in zip(entries, proposals, strict=True)))
    write_batch(batch, tmp_path / "batch")

    status, said, errors = judged(tmp_path / "batch", f"ray://127.0.0.1:{ray.client_port}" if is_client else "ray", ray)

    assert status == 0, errors
    found = [read_verdict(tmp_path / "batch", batch, number) for number in batch.entries]
    assert [str(one.evidence.outcome) for one in found if one and one.evidence] == [*WRONG]
    assert sorted(said) == [f"{n} of 3: scale for cpu-x86: {outcome}" for n, outcome in enumerate(WRONG, 1)]


def test_nodes_without_the_chosen_device_say_so(tmp_path: Path, ray: Ray) -> None:
    write_batch(batch_of(entry("a")), tmp_path / "batch")

    status, said, _ = judged(tmp_path / "batch", "ray", ray, "--devices", "7")

    assert status == 1
    assert sum("is lost (no device '7' may judge here, only cpu)" in line for line in said) == 2
    assert said[-1] == "1 of 1: row-sum for cpu-x86: no such device judges here"


def test_where_no_cluster_answers_one_sentence_says_so(tmp_path: Path, ray: Ray) -> None:
    write_batch(batch_of(entry("a")), tmp_path / "batch")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port, why in ((1, "Connection refused"), (silent.getsockname()[1], "ray client connection timeout")):
            start = time.monotonic()
            status, said, errors = judged(tmp_path / "batch", f"ray://127.0.0.1:{port}", ray)

            assert (status, said, time.monotonic() - start < 25) == (1, [], True)
            assert re.fullmatch(f"error: no Ray cluster answers at ray://127.0.0.1:{port}: {why}\nhint: .*\n", errors)
