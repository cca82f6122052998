"""Kill nodes of a Ray cluster at random while it judges a batch, and its driver once; count verdicts.

    python -m benchmarks.pool_ray --work FOLDER --out benchmarks/results/pool-ray.json

The cluster is local: a head that judges nothing, and worker nodes, each with one virtual CPU of this machine. Nodes are
killed with all their processes (SIGKILL), and a new one takes the place of each a few seconds later. Candidates are
wrong on purpose, each in a way that its verdict must name: they are judged in full, in the sandbox, and not timed,
because nodes on one machine disturb each other's times.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.origin import LIBRARIES, write_result
from eval.batch.pack import Batch, read_verdict
from eval.languages.registry import load_candidate
from eval.oracle.task import load_task
from kb.settings import Settings
from kb.types.evidence import Evidence, Outcome
from kb.types.protocols import Proposal
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.packing import pack_candidates

if TYPE_CHECKING:
    from ray._private.node import Node
    from ray.cluster_utils import Cluster

SELFTEST = Path(__file__).parents[1] / "eval" / "selftest"
TASK = SELFTEST / "tasks" / "scale.py"
FORWARD = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        {}\n# {}\n"
WRONG = {
    Outcome.BAD_OUTPUT: "return (2 * x + 1).flatten()",
    Outcome.INCORRECT: "return 2 * x + 1.01",
    Outcome.RAISED: "raise ValueError('no')",
    Outcome.CRASHED: "import ctypes; ctypes.string_at(0)",
}
JUDGED = re.compile(r"^(\d+) of \d+: .*?: (?!no verdict)")
LOST = re.compile(r"^machine \w+ is lost \((.*)\): it had begun (\d+)")


def pack(work: Path, jobs: int) -> tuple[Path, Batch, dict[int, str]]:
    """A batch, and what each verdict must say."""
    home, folder, files = work / "home", work / "batch", list[Path]()
    for number in range(jobs):
        files.append(work / f"{number}.py")
        files[-1].write_text(FORWARD.format([*WRONG.values()][number % len(WRONG)], number))
    given = [Proposal(candidate=load_candidate(file), note=file.name) for file in files]
    with KnowledgeBase(Settings(home=home), notify=print) as kb:
        batch = pack_candidates(kb, folder, load_task(TASK), "cpu-x86", given)
    return folder, batch, {number: str([*WRONG][(number - 1) % len(WRONG)]) for number in batch.entries}


def evidence(folder: Path, batch: Batch) -> dict[int, Evidence]:
    found = {number: read_verdict(folder, batch, number) for number in batch.entries}
    return {number: verdict.evidence for number, verdict in found.items() if verdict and verdict.evidence}


class Driver:
    """`python -m eval --pool ray` in the folder; its lines with the second in which each came."""

    def __init__(self, folder: Path, address: str) -> None:
        command = [sys.executable, "-m", "eval", "--pool", "ray"]
        environment = os.environ | {"RAY_ADDRESS": address}
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)
        self.lines = list[str]()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            print(line, end="", flush=True)

    def judged(self) -> Counter[int]:
        return Counter(int(found[1]) for line in self.lines if (found := JUDGED.match(line)))

    def end(self) -> None:
        self.process.wait()
        self.reader.join()


def trouble(cluster: "Cluster", nodes: list["Node"], first: Driver, chance: random.Random, mean_s: float) -> int:
    """Kill nodes until the driver ends; return how many."""
    kills = 0
    while first.process.poll() is None:
        time.sleep(min(chance.expovariate(1 / mean_s), 3 * mean_s))
        if first.process.poll() is None:
            cluster.remove_node(nodes.pop(chance.randrange(len(nodes))), allow_graceful=False)
            kills += 1
            time.sleep(2)
            nodes.append(added(cluster))
    return kills


def added(cluster: "Cluster") -> "Node":
    """A new node with a folder of its own, as on a machine of its own. The paths of its sockets must be short."""
    return cluster.add_node(num_cpus=1, temp_dir=tempfile.mkdtemp())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="an empty folder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--mean-s", type=float, default=20, help="mean seconds between kills")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    from ray.cluster_utils import Cluster

    folder, batch, expected = pack(options.work, options.jobs)
    tempfile.tempdir = tempfile.mkdtemp(prefix="kb-")
    head = {"num_cpus": 0, "include_dashboard": False, "temp_dir": tempfile.mkdtemp()}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        nodes = [added(cluster) for _ in range(options.nodes)]
        chance, began = random.Random(options.seed), time.monotonic()
        drivers = [Driver(folder, cluster.address)]
        killer = threading.Thread(target=_kill_midway, args=(drivers[0], options.jobs // 3))
        killer.start()
        kills = trouble(cluster, nodes, drivers[0], chance, options.mean_s)
        killer.join()
        drivers[0].end()
        before = {n: (folder / "verdicts" / str(n)).read_bytes() for n in evidence(folder, batch)}
        drivers.append(Driver(folder, cluster.address))
        kills += trouble(cluster, nodes, drivers[1], chance, options.mean_s)
        drivers[1].end()
        took_s = time.monotonic() - began
    finally:
        cluster.shutdown()
        shutil.rmtree(tempfile.tempdir, ignore_errors=True)
    outcomes = {number: str(one.outcome) for number, one in evidence(folder, batch).items()}
    judged = drivers[0].judged() + drivers[1].judged()
    lost = [match for driver in drivers for line in driver.lines if (match := LOST.match(line))]
    kept = sum((folder / "verdicts" / str(number)).read_bytes() == text for number, text in before.items())
    write_result(
        options.out,
        {
            "jobs": options.jobs,
            "nodes": options.nodes,
            "mean s between kills of nodes": options.mean_s,
            "seed": options.seed,
            "nodes killed": kills,
            "losses that the drivers saw": len(lost),
            "reasons": dict(Counter(match[1].partition(":")[0] for match in lost)),
            "judgings that were cut short by a loss": sum(int(match[2]) for match in lost),
            "drivers killed": 1,
            "verdicts before the driver was killed": len(before),
            "of these unchanged at the end": kept,
            "verdicts at the end": len(outcomes),
            "as expected": sum(outcomes.get(number) == outcome for number, outcome in expected.items()),
            "outcomes": dict(Counter(outcomes.values())),
            "verdicts that came twice": sum(count > 1 for count in judged.values()),
            "exit status of the last driver": drivers[1].process.returncode,
            "minutes": round(took_s / 60, 1),
        },
        (*LIBRARIES[:2], "ray"),
    )


def _kill_midway(driver: Driver, verdicts: int) -> None:
    while driver.process.poll() is None and len(driver.judged()) < verdicts:
        time.sleep(0.1)
    driver.process.kill()


if __name__ == "__main__":
    main()
