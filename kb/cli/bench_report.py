"""Shows the results of `kb bench` in a terminal."""

from statistics import median
from typing import TYPE_CHECKING

from kb.cli.output import show, show_wrapped
from kb.cli.table import show_table

if TYPE_CHECKING:  # the parts of the judge load slowly, and `kb bench retrieval` needs none of them
    from kb.bench import retrieval
    from kb.bench.selftest import Same, SelfTest, Verdict

NAMES = (
    "hit@1", "hit@5", "MRR@10", "nDCG@10", "within 1000", "within 2000", "within 4000", "within 8000",
    "wrong target", "confused", "citations valid", "refused", "abstained",
)  # fmt: skip
"""Scores of a search, in the order in which they are shown."""
OF_GROUP = ("hit@5", "within 4000", "abstained")


def show_retrieval(report: "retrieval.Report") -> None:
    how = "all phrasings together" if report.phrasings else "the query alone"
    show_wrapped(
        f"{report.questions} questions, {how}; {report.stored['document']} documents, model {report.model or 'none'}"
    )
    unreachable = f" (not: {', '.join(report.unreachable)})" if report.unreachable else ""
    show_wrapped(f"answered by one stored passage: {report.ceiling:.3f}{unreachable}")
    show_wrapped(f"search and packing: p50 {report.seconds['p50']:.3f} s, p95 {report.seconds['p95']:.3f} s")
    show()
    rows = [
        (name, _score(report.scores[name]), " to ".join(map(_score, report.intervals.get(name, ()))))
        for name in NAMES
        if name in report.scores
    ]
    show_table(("measure", "value", "95 % interval"), rows, indent=2)
    show()
    groups = [
        (name, f"{group['questions']:.0f}", *(_score(group.get(score)) for score in OF_GROUP))
        for name, group in report.groups.items()
    ]
    show_table(("group", "questions", *OF_GROUP), groups)
    if report.missed:
        show()
        show_wrapped("not answered within 4000 tokens, with the rank of the first passage that answers:")
        missed = [(m.id, *(str(rank or "-") for rank in (m.hit, m.lexical, m.dense)), m.cause) for m in report.missed]
        show_table(("question", "hit", "lexical", "dense", "cause"), missed, wrap={4}, indent=2)


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def show_verdict(found: "Verdict | Same") -> None:
    """Show one verdict of the self-test in the moment when it is known."""
    from kb.bench.selftest import Same

    if isinstance(found, Same):
        middle = f", median speed-up {median(found.speedups):.3f}" if found.speedups else ""
        show_wrapped(
            f"{found.task} against itself: {found.won} of {found.sessions} sessions won, {found.busy} on a busy"
            f" machine{middle}"
        )
        return
    outcome = found.outcome or f"no verdict: {found.detail}"
    other = "" if found.outcome in found.wanted else f", not {' or '.join(found.wanted)}"
    mark = "WRONG " if found.failed else ""
    show_wrapped(f"{mark}{found.kind} {found.file} on {found.task}: {outcome}{other} ({found.seconds:.1f} s)")


def show_self_test(found: "SelfTest") -> None:
    show()
    rows = [
        (rate.what, f"{rate.count} of {rate.of}", f"{rate.interval[0]:.3f} to {rate.interval[1]:.3f}")
        for rate in found.rates
    ]
    show_table(("what", "count", "95 % interval of the rate"), rows)
    for reason in found.left_out:
        show_wrapped(f"not tried: {reason}")
    for verdict in found.failed:
        show_wrapped(f"WRONG: {verdict.kind} {verdict.file}: {verdict.outcome or 'no verdict'}: {verdict.detail}")
    versions = "; ".join(f"{name} {value}" for name, value in found.environment.items())
    show_wrapped(f"{found.target}, {found.seconds:,.0f} s; {versions}")
