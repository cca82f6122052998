"""How the measures of a home look in a terminal."""

from typing import TYPE_CHECKING

from kb.cli.output import show

if TYPE_CHECKING:
    from kb.bench.retrieval import Measured, Report
    from kb.bench.tuning import Tuning

NAMES = ("hit@1", "hit@5", "MRR@10", "nDCG@10", "within 1000", "within 2000", "within 4000", "within 8000")
FAULTS = ("wrong target", "confused", "citations valid", "refused", "abstained")


def show_measured(report: "Report") -> None:
    how = "all phrasings together" if report.phrasings else "the query alone"
    show(f"{report.questions} questions, {how}; {report.stored['document']} documents, model {report.model or 'none'}")
    show(f"answered by one stored passage: {report.ceiling:.3f}" + _listed(report.unreachable))
    for measured in report.systems:
        show()
        _show_system(measured)
    ours = report.systems[0]
    show()
    for name, scores in ours.groups.items():
        shown = "  ".join(f"{n} {scores[n]:.3f}" for n in ("hit@5", "within 4000", "abstained") if n in scores)
        show(f"{name:28} {scores['questions']:>4.0f}  {shown}")
    if report.missed:
        show()
        show("not answered within 4000 tokens (rank of the first that answers: hit, lexical, dense):")
        for missed in report.missed:
            ranks = ", ".join(str(rank or "-") for rank in (missed.hit, missed.lexical, missed.dense))
            show(f"  {missed.id:20} ({ranks}) {missed.cause}")


def _show_system(measured: "Measured") -> None:
    p50, p95 = measured.seconds["p50"], measured.seconds["p95"]
    show(f"{measured.system}  (search and packing: p50 {p50:.3f} s, p95 {p95:.3f} s)")
    for name in NAMES:
        if name in measured.scores:
            low, high = measured.intervals[name]
            show(f"  {name:14} {measured.scores[name]:.3f}  ({low:.3f} to {high:.3f})")
    for name in FAULTS:
        if name in measured.scores:
            show(f"  {name:15} {measured.scores[name]:.3f}")


def show_tuning(tuning: "Tuning") -> None:
    for weight, value in tuning.by_weight.items():
        show(f"  {weight:.2f}  MRR@10 {value:.3f}")
    show(f"best: lexical_weight = {tuning.lexical_weight} (cross-validated MRR@10 {tuning.cross_validated:.3f})")
    show("put it into kb.toml of the home; the current weight is kept until then")


def _listed(names: tuple[str, ...]) -> str:
    return f" (not: {', '.join(names)})" if names else ""
