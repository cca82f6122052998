"""Shows skills, proposals and what is known of them in a terminal."""

from collections.abc import Iterable, Mapping, Sequence

from kb.cli.output import counted, show, show_text, show_wrapped
from kb.cli.table import show_table
from kb.skillbook.foreign import attached
from kb.skillbook.lint import Finding
from kb.skillbook.select import Selection
from kb.types.base import short
from kb.usecases.curating import Difference, Measured, Review
from kb.usecases.reverifying import Reverified
from kb.usecases.skill_exchange import Imported
from kb.usecases.skill_gains import Gain
from kb.views.skills import SkillSummary

_HEAD = 13


def show_list(shown: Sequence[SkillSummary], none: str = "no skills") -> None:
    if not shown:
        show(none)
    keys = ("name", "kind", "standing", "target", "language")
    rows = [(*(str(getattr(skill, key) or "any") for key in keys), _number(skill.speedup)) for skill in shown]
    show_table((*keys, "speed-up"), rows, wrap={0})


def show_selection(found: Selection) -> None:
    """Show the reasons for the rank of each skill, and why others do not fit."""
    for recalled in found.offered:
        show_wrapped(f"{recalled.skill.name}: {recalled.score:.2f}")
        show_table((), [(f"{r.worth:+.2f}", r.text) for r in recalled.reasons], wrap={1}, indent=2)
    if found.refused:
        show("not offered")
        show_table((), [(refusal.name, refusal.reason) for refusal in found.refused], wrap={1}, indent=2)


def show_whole(found: Review, about: SkillSummary, gains: Sequence[Gain]) -> None:
    """Show all that is known of a skill, its text, and how to decide on it."""
    skill = found.skill
    for key, value in about:
        said = _number(value) if isinstance(value, float) or value is None else str(value)
        _show_part(key, [said])
    applies = (" ".join(skill.preconditions.ops), " ".join(skill.preconditions.dtypes))
    _show_part("applies to", ["; ".join(filter(None, applies))] if any(applies) else [])
    if skill.is_rule:
        tried = skill.model_copy(update={"evidence": tuple(one.evidence for one in found.evidence if one.here)})
        _show_part(
            "mends", [f"{' '.join(skill.refusals)}; helped in {tried.helped} of {len(tried.trials)} other tasks"]
        )
    _show_part("gain", map(str, gains))
    _show_part("doubt", found.doubts)
    _show_part("beside it", attached(skill.folder) if skill.folder else ())
    _show_part("cites", (f"`kb cite {id_}`" for id_ in skill.citations))
    for record in skill.records:
        _show_part("record", [f"{record.verb} by {record.by}, {record.created[:10]}: {record.reason}".rstrip(": ")])
    if found.evidence:
        show()
        _show_evidence(found.evidence)
    show()
    show_text(skill.body)
    if skill.waits:
        show(f'\nkb skills accept {skill.name}\nkb skills reject {skill.name} --reason "..."')


def show_difference(found: Difference) -> None:
    for what, lines in (("text", found.text), ("code", found.code)):
        show(f"{what}: the same" if not lines else f"{what}:")
        for line in lines:
            show(f"  {line}")
        show()


def show_findings(found: Mapping[str, Sequence[Finding]]) -> None:
    for folder, findings in found.items():
        if findings:
            show(folder)
        for finding in findings:
            show_wrapped(str(finding), "  ")
    errors = sum(finding.severity == "error" for findings in found.values() for finding in findings)
    warnings = sum(map(len, found.values())) - errors
    show(f"{len(found)} skills checked: {errors} errors, {warnings} warnings")


def show_reverified(done: Reverified) -> None:
    where = f" on {done.task} for {done.target}" if done.task else ""
    if done.evidence is None:
        show_wrapped(f"{done.name}{where}: {done.reason}")
        return
    from kb.views.verdicts import verdict

    show_wrapped(f"{done.name} ({done.before} -> {done.after}): {verdict(done.evidence).summary}")


def show_imported(done: Sequence[Imported]) -> None:
    for one in done:
        show_wrapped(f"{one.name}: {'proposed' if one.proposed else one.reason}")
        for finding in one.findings:
            show_wrapped(str(finding), "  ")
    proposed = counted(sum(one.proposed for one in done), "proposals")
    show(f"{proposed}; `kb skills queue` shows what waits" if any(one.proposed for one in done) else proposed)


def _show_part(what: str, texts: Iterable[str]) -> None:
    for text in texts:
        show_wrapped(text, f"{what + ':':<{_HEAD}}")


def _show_evidence(evidence: Sequence[Measured]) -> None:
    rows = []
    for one in evidence:
        found, trust = one.evidence, one.trust if one.own else f"{one.trust}; of other code"
        came = found.outcome if found.passed else f"{found.outcome}: {short(found.detail, 80)}"
        came += " while the machine was busy" if found.timing and found.timing.busy else ""
        said = f"{found.task} on {found.target}; {found.machine or 'unknown machine'}; {came}; {found.created[:10]}"
        rows.append((_number(found.speedup), one.interval or "-", trust, said))
    show_table(("speed-up", "95 % interval", "trust", "where, when and what"), rows, wrap={2, 3}, indent=2)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
