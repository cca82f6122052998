"""Decides about a fact, or stores what a probe measured, again and again until it is killed; a line after each.

python -m tests.reliability.writer HOME decisions|probes
"""

import os
import sys
from itertools import count
from pathlib import Path

from kb.facts.resolution import FactDecision
from kb.settings import Settings
from kb.types.measurement import Findings, Measurement, ProbedDevice
from kb.usecases import probing
from kb.usecases.knowledge_base import KnowledgeBase

DEVICE = ProbedDevice(name="NVIDIA H200", backend="cuda", architecture="sm_90", software=("torch",))


def decide(kb: KnowledgeBase, key: str, number: int) -> None:
    kb.factbook.decide(key, FactDecision.REJECTED if number % 2 else FactDecision.ACCEPTED, reason=str(number))


def probe(kb: KnowledgeBase, number: int) -> None:
    """Both readings are the number of the probe: half a sheet, or half of two, would differ."""
    readings = tuple(
        Measurement(quantity=quantity, value=number, unit="GB/s", condition=condition, samples=(number,), how="counted")
        for quantity, condition in (("hbm_bandwidth", "copy"), ("host_bandwidth", "to the device"))
    )
    probing.store(kb, Findings(device=DEVICE, date="2026-01-02", readings=readings, missing=()), "h200")


def main() -> None:
    home, work = Path(sys.argv[1]), sys.argv[2]
    with KnowledgeBase(Settings(home=home, embedding_model="none")) as kb:
        key = kb.catalog.facts(["h200"])[0].citation.id
        os.write(1, b"0\n")
        for number in count(1):
            if work == "decisions":
                decide(kb, key, number)
            else:
                probe(kb, number)
            os.write(1, f"{number}\n".encode())


if __name__ == "__main__":
    main()
