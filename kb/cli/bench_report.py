"""Shows the results of a benchmark in a terminal."""

from kb.bench.retrieval import Measured, Report
from kb.bench.tuning import Tuning
from kb.cli.output import show, show_wrapped
from kb.cli.table import show_table

NAMES = ("hit@1", "hit@5", "MRR@10", "nDCG@10", "within 1000", "within 2000", "within 4000", "within 8000")
FAULTS = ("wrong target", "confused", "citations valid", "refused", "abstained")


def show_measured(report: Report) -> None:
    how = "all phrasings together" if report.phrasings else "the query alone"
    show_wrapped(
        f"{report.questions} questions, {how}; {report.stored['document']} documents, model {report.model or 'none'}"
    )
    unreachable = f" (not: {', '.join(report.unreachable)})" if report.unreachable else ""
    show_wrapped(f"answered by one stored passage: {report.ceiling:.3f}{unreachable}")
    names = report.names
    show_wrapped(
        f"exact names with the right first hit: {names.headings_first} of {names.headings} headings, "
        f"{names.lone_first} of {names.lone} names that one passage has"
    )
    for measured in report.systems:
        show()
        _show_system(measured)
    ours = report.systems[0]
    show()
    some = ("hit@5", "within 4000", "abstained")
    rows = [
        (name, f"{scores['questions']:.0f}", *(_score(scores.get(n)) for n in some))
        for name, scores in ours.groups.items()
    ]
    show_table(("group", "questions", *some), rows)
    if report.missed:
        show()
        show_wrapped("not answered within 4000 tokens, with the rank of the first passage that answers:")
        missed = [(m.id, *(str(rank or "-") for rank in (m.hit, m.lexical, m.dense)), m.cause) for m in report.missed]
        show_table(("question", "hit", "lexical", "dense", "cause"), missed, wrap={4}, indent=2)


def _show_system(measured: Measured) -> None:
    p50, p95 = measured.seconds["p50"], measured.seconds["p95"]
    show_wrapped(f"{measured.system}  (search and packing: p50 {p50:.3f} s, p95 {p95:.3f} s)")
    rows = [
        (name, _score(measured.scores[name]), " to ".join(map(_score, measured.intervals.get(name, ()))))
        for name in (*NAMES, *FAULTS)
        if name in measured.scores
    ]
    show_table(("measure", "value", "95 % interval"), rows, indent=2)


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def show_tuning(tuning: Tuning) -> None:
    rows = [(f"{weight:.2f}", f"{value:.3f}") for weight, value in tuning.by_weight.items()]
    show_table(("lexical_weight", "MRR@10"), rows)
    show(f"best: lexical_weight = {tuning.lexical_weight} (cross-validated MRR@10 {tuning.cross_validated:.3f})")
    show("nothing was changed: to use this weight, put it into kb.toml of the home")
