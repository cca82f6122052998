"""Measure a served home under load, and whether a kill loses anything that the server acknowledged.

    python -m benchmarks.serve --work FOLDER --out benchmarks/results/pool-serve.json

The home is made of the sheets that ship with kb, with the default embedding model. A process runs `kb serve` on
loopback; this one has the clients, each with a token of its own, on the same cores. Each client asks one question after
another, drawn at random: half searches, a quarter facts, a fifth prompts for a kernel, and writes: documents, skills
and decisions. In the first part a client asks again at once, which shows what the machine can do; in the second it
pauses about as long as `--pause` says, as people and agents do. Then the server is killed while the clients go on, and
the home is checked.
"""

import argparse
import asyncio
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.origin import write_result
from benchmarks.scale import memory_mb
from kb.serve.people import People, Role
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase

ROOT = Path(__file__).parents[1]
SHEETS = ROOT / "kb" / "hardware_docs"
TARGETS = ("mi300x", "h200", "b200", "h100")
SHARES = {"search": 50, "facts": 25, "prompt": 20, "write": 5}
"""Of a hundred questions."""
WRITES = ("document", "skill", "decision")
ASPECTS = ("size", "bandwidth", "latency", "banks", "peak", "limit", "alignment", "instruction", "clock")
THINGS = ("shared memory", "cache", "registers", "matrix unit", "vector unit", "HBM", "links", "scheduler", "barrier")
ROW = {"shape": [2048, 8192], "dtype": "float32"}
TASK = {
    "task": (ROOT / "examples" / "softmax.py").read_text(encoding="utf-8"),
    "name": "softmax",
    "interface": {"inputs": [ROW | {"name": "x"}], "state": [], "outputs": [ROW | {"name": "output0"}], "init": []},
}
SKILL = {
    "kind": "technique",
    "description": "Pad rows of shared memory by one word, so that the lanes of a wave read other banks.",
    "body": "## Why\n\nThe lanes of a wave read a column, and all its words lie in one bank.\n",
}


@dataclass
class Load:
    """What the clients asked of one server, and what it answered."""

    facts: dict[str, list[str]]
    """Ids by target."""
    ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    kept: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What the server acknowledged, by kind: names of documents and skills, and ids of facts."""
    decisions: set[str] = field(default_factory=set)
    """The reasons of all decisions that were sent."""

    def request(self, chance: random.Random, name: str) -> tuple[str, str, str, dict[str, Any]]:
        """A kind of question, and the method, the address and what it takes."""
        [kind] = chance.choices(list(SHARES), SHARES.values())
        target = chance.choice([*self.facts])
        if kind == "search":
            words = f"{chance.choice(THINGS)} {chance.choice(ASPECTS)}"
            asked = {"phrasings": [words, f"{words} of {target}"], "target": target}
            return kind, "POST", "/api/search", {"json": asked}
        if kind == "facts":
            return kind, "POST", "/api/facts", {"json": {"target": target}}
        if kind == "prompt":
            return kind, "POST", "/api/prompt", {"json": TASK | {"target": target}}
        kind = chance.choice(WRITES)
        if kind == "document":
            text = f"# Notes {name}\n\nThe {chance.choice(THINGS)} of {name} has {chance.randrange(1000)} banks.\n"
            return kind, "PUT", f"/api/documents/{target}/{name}.md", {"content": text}
        if kind == "skill":
            return kind, "POST", "/api/propose_skill", {"json": {"skill": SKILL | {"name": name, "target": target}}}
        fact = chance.choice(self.facts[target])
        return kind, "POST", "/api/decide_fact", {"json": {"fact": fact, "verb": "accept", "reason": name}}

    async def client(self, http: httpx.AsyncClient, number: int, part: str, until: float, pause_s: float) -> None:
        chance, turn = random.Random(f"{part}-{number}"), 0
        while time.monotonic() < until:
            turn += 1
            name = f"{part}-{number}-{turn}"
            kind, method, path, taken = self.request(chance, name)
            began = time.monotonic()
            if kind == "decision":
                self.decisions.add(name)
            try:
                answer = await http.request(method, path, **taken)
            except httpx.TransportError as error:
                self.errors[type(error).__name__] += 1
                return
            self.ms[kind].append(1000 * (time.monotonic() - began))
            if answer.status_code != 200:
                self.errors[f"{kind} {answer.status_code}: {answer.text[:200]}"] += 1
            elif kind == "skill":
                self.kept[kind].append(answer.json()["name"])
            elif kind in WRITES:
                self.kept[kind].append(name if kind == "document" else taken["json"]["fact"])
            if pause_s:
                await asyncio.sleep(chance.expovariate(1 / pause_s))

    def summary(self, seconds: float) -> dict[str, Any]:
        def row(times: list[float]) -> dict[str, float]:
            cut = statistics.quantiles(times, n=20, method="inclusive") if len(times) > 1 else times * 20
            return {"n": len(times), "p50 ms": round(cut[9]), "p95 ms": round(cut[18]), "most ms": round(max(times))}

        every = [one for times in self.ms.values() for one in times]
        return {
            "answers": len(every),
            "answers a second": round(len(every) / seconds, 1),
            "errors": dict(self.errors),
            "all": row(every),
            **{kind: row(self.ms[kind]) for kind in (*SHARES, *WRITES) if self.ms[kind]},
        }


async def ask(
    load: Load, address: str, tokens: list[str], part: str, options: argparse.Namespace, pause_s: float
) -> None:
    until, limits = time.monotonic() + options.seconds, httpx.Limits(max_connections=1)
    clients = [httpx.AsyncClient(base_url=address, headers=bearer(one), timeout=120, limits=limits) for one in tokens]
    await asyncio.gather(*(load.client(http, n, part, until, pause_s) for n, http in enumerate(clients)))
    await asyncio.gather(*(http.aclose() for http in clients))


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def started(home: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that serves the home, and its address."""
    command = [sys.executable, "-m", "kb.cli", "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"KB_HOME": str(home)})
    assert process.stdout is not None
    return process, process.stdout.readline().strip().rstrip("/")


def lost(settings: Settings, load: Load) -> dict[str, Any]:
    """What was acknowledged before the kill and is not there, and how whole the home is."""
    with sqlite3.connect(settings.home / "catalog.sqlite") as db:
        integrity = [row for (row,) in db.execute("PRAGMA integrity_check")]
        decided = dict(db.execute("SELECT key, reason FROM fact_verdict"))
    with KnowledgeBase(settings) as kb:
        documents = {Path(one.path).stem for one in kb.documents.stored()}
        skills = {one.name for one in kb.skills.known()}
        problems = [str(one) for one in kb.skills.problems()]
    return {
        "acknowledged": {kind: len(names) for kind, names in load.kept.items()},
        "documents": sorted(set(load.kept["document"]) - documents),
        "skills": sorted(set(load.kept["skill"]) - skills),
        "decisions": sorted(fact for fact in load.kept["decision"] if decided.get(fact) not in load.decisions),
        "integrity": integrity,
        "malformed skills": problems,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="an empty folder")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=2.0, help="mean seconds between an answer and the next question")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    settings = Settings(home=options.work / "home")
    with KnowledgeBase(settings, notify=print) as kb:
        kb.ingest([SHEETS])
        facts = {target: [fact.citation.id for fact in kb.facts(target)] for target in TARGETS}
        held = {"documents": len(kb.documents.stored()), "passages": kb.catalog.count_windows()}
    people = People(settings.home)
    tokens = [people.add(f"client-{number}", Role.CURATOR) for number in range(options.clients)]
    parts: dict[str, Any] = {}
    process, address = started(settings.home)
    try:
        for part, pause_s in (("at once", 0.0), ("with pauses", options.pause)):
            load, began = Load(facts), time.monotonic()
            asyncio.run(ask(load, address, tokens, part.replace(" ", "-"), options, pause_s))
            parts[part] = load.summary(time.monotonic() - began) | {"load average": round(os.getloadavg()[0], 1)}
        memory = memory_mb(process.pid)
        load = Load(facts)
        killer = threading.Timer(options.seconds / 4, os.kill, (process.pid, signal.SIGKILL))
        killer.start()
        asyncio.run(ask(load, address, tokens, "killed", options, 0.0))
        killer.join()
    finally:
        process.kill()
        process.wait()
    after = lost(settings, load)
    process, address = started(settings.home)
    try:
        again = httpx.post(f"{address}/api/targets", headers=bearer(tokens[0]), json={}, timeout=60)
    finally:
        process.terminate()
        process.wait()
    result = {
        "home": held,
        "clients": options.clients,
        "seconds": options.seconds,
        "mean pause s": options.pause,
        "shares": SHARES,
        "cores": os.cpu_count(),
        "parts": parts,
        "server memory": memory,
        "lost by the kill": after,
        "serves again": again.status_code == 200,
    }
    write_result(options.out, result)


if __name__ == "__main__":
    main()
