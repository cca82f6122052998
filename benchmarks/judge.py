"""Test the judge on this machine: all known cheats, all honest kernels, and references against themselves.

    python -m benchmarks.judge --out benchmarks/results/judge-selftest.json [--target TARGET] [--quick] [--rounds N]

The result is that of `kb bench judge`, with its rates, and names device, versions and commit.
"""

import argparse
from pathlib import Path

import kb as knowledge
from benchmarks.origin import write_result
from kb.bench.selftest import self_test
from kb.cli.bench_report import show_self_test, show_verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--target")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    with knowledge.open() as kb:
        found = self_test(kb, options.target, quick=options.quick, tell=show_verdict, rounds=options.rounds)
    show_self_test(found)
    rates = {r.what: {"count": r.count, "of": r.of, "95 % interval": r.interval} for r in found.rates}
    write_result(options.out, {"rates": rates} | found.model_dump(mode="json"))


if __name__ == "__main__":
    main()
