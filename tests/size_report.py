"""Prints the lines of product code by package; fails when a file, a package or the whole outgrows its limit."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SELFTEST = ROOT / "eval" / "selftest"
DATA = {
    ROOT / "kb" / "skills",
    ROOT / "kb" / "toolchains",
    *(SELFTEST / name for name in ("wrong", "correct", "tasks")),
}
"""Kernels and tasks that ship as data."""
MAX_FILE_LINES = 400
LIMITS = {
    "kb": 19519,  # three faces over one set of use cases, and the stores below; batches, shared decisions
    "kb/runs": 1271,  # a run's journal and its loop, what is asked and paid, rules, skills of a run
    "kb/campaign": 937,  # many runs with one budget, carried, in rounds or here, and the table of results
    "kb/serve": 897,  # one home for a team: people, roles and their rates, three faces in one process, uploads
    "kb/web": 677,  # the pages, and a run as one page
    "kb/exports": 1311,  # runs in the forms of other tools, and the best kernel as a file
    "ingest": 8944,  # readers of ten formats, with code in 27 languages and includes; folders, archives, moves; facts
    "eval/pool": 724,  # the pool of this machine: which cards judge, what each kind judges, canaries, turns
    "eval/batch": 845,  # candidates carried to another machine, or to all machines of a cluster
    "eval": 12730,  # a judge that trusts nothing: worker and all that it leaves, languages, devices, screens
    "retrieval": 3788,  # all of ranking: fusion, refusals, packing, excerpts, places of a name, statements, re-ranking
    "synth": 3017,  # briefings, prompts, diagnosis, answers, authors of three kinds, the search on two levels
}
"""Most lines of each folder without those below it that have a limit, with what they are for. Raise one only with a
reason."""


def main() -> int:
    problems, total = [], 0
    for package, limit in LIMITS.items():
        apart = DATA | {ROOT / other for other in LIMITS if other.startswith(f"{package}/")}
        files = [f for f in sorted((ROOT / package).rglob("*.py")) if apart.isdisjoint(f.parents)]
        sizes = {f: len(f.read_text(encoding="utf-8").splitlines()) for f in files}
        lines, longest = sum(sizes.values()), max(sizes, key=sizes.__getitem__)
        total += lines
        name = longest.relative_to(ROOT)
        print(
            f"{package:<10} {lines:>6} of {limit:>5} lines in {len(sizes):>3} files, longest {name} ({sizes[longest]})"
        )
        problems += [
            f"{f.relative_to(ROOT)} has more than {MAX_FILE_LINES} lines" for f in files if sizes[f] > MAX_FILE_LINES
        ]
        problems += [f"{package} has more than {limit} lines"] if lines > limit else []
    print(f"{'all':<10} {total:>6}")
    print("\n".join(problems), file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
