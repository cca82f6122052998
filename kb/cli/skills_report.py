"""Shows skills, proposals and what is known of them in a terminal."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kb.cli.output import screen_width, show, show_wrapped
from kb.cli.table import show_table
from kb.skillbook.lint import Finding
from kb.skillbook.select import Selection
from kb.types.base import short
from kb.types.evidence import Evidence
from kb.types.skill import Preconditions, Skill
from kb.usecases.curating import Difference, Measured, Review
from kb.usecases.reverifying import Reverified
from kb.usecases.skill_exchange import Imported
from kb.usecases.skill_gains import Gain

LINES_SHOWN, EVIDENCE_SHOWN, FLAGS_SHOWN = 18, 4, 8
"""How much of each part the screen of a proposal shows."""
_HEAD = 12


def show_list(summaries: Sequence[Mapping[str, Any]]) -> None:
    keys = ("name", "kind", "standing", "target", "language")
    rows = [(*(str(skill[key] or "any") for key in keys), _number(skill["speedup"])) for skill in summaries]
    show_table((*keys, "speed-up"), rows, wrap={0})


def show_selection(found: Selection) -> None:
    """Show the reasons for the rank of each skill, and why others do not fit."""
    for recalled in found.offered:
        show_wrapped(f"{recalled.skill.name}: {recalled.score:.2f}")
        show_table((), [(f"{r.worth:+.2f}", r.text) for r in recalled.reasons], wrap={1}, indent=2)
    if found.refused:
        show("not offered")
        show_table((), [(refusal.name, refusal.reason) for refusal in found.refused], wrap={1}, indent=2)


def show_whole(skill: Skill, about: Mapping[str, Any], gains: Sequence[Gain], evidence: Sequence[Measured]) -> None:
    for key, value in about.items():
        said = _number(value) if isinstance(value, float) or value is None else str(value)
        show_wrapped(said, f"{key + ':':<13}")
    if applies := _applies(skill.preconditions):
        show_wrapped(applies, f"{'applies to:':<13}")
    for gain in gains:
        show_wrapped(str(gain), f"{'gain:':<13}")
    if evidence:
        show()
        _show_evidence(evidence)
    for record in skill.records:
        show_wrapped(f"{record.verb} by {record.by}, {record.created[:10]}: {record.reason}", f"{'record:':<13}")
    show()
    for line in _wrapped(skill.body):
        show(line)


def show_review(found: Review) -> None:
    """The screen of one proposal."""
    skill = found.skill
    language = skill.language or "any language"
    show_wrapped(f"{skill.name}: a {skill.kind} in {language} for {skill.target}; {found.standing}")
    _show_part("claim", [skill.description])
    if applies := _applies(skill.preconditions):
        _show_part("applies to", [applies])
    show()
    show("evidence" if found.evidence else "evidence    none")
    _show_evidence(found.evidence[:EVIDENCE_SHOWN])
    _show_rest(len(found.evidence) - EVIDENCE_SHOWN, f"kb skills show {skill.name} --evidence")
    show()
    show("text")
    code = skill.candidate.source.splitlines() if skill.candidate else []
    _show_lines([*_wrapped(skill.body), *code], f"kb skills show {skill.name}")
    show()
    errors = [str(finding) for finding in found.findings if finding.severity == "error"]
    flags = [*errors, *found.flags, *(str(finding) for finding in found.findings if finding.severity != "error")]
    _show_part("flags", flags[:FLAGS_SHOWN] or ["none"])
    _show_rest(len(flags) - FLAGS_SHOWN, f"kb skills lint {skill.name}")
    _show_part("cites", found.cited or ["nothing that stands" if skill.citations else "nothing"])
    show()
    if found.waits:
        show(f"kb skills accept {skill.name}")
    show(f'kb skills {"reject" if found.waits else "retire"} {skill.name} --reason "..."')


def show_waiting(names: Sequence[str], *, shown: int) -> None:
    """Say how many proposals wait, and name those that were not shown."""
    if not names:
        show("no proposal waits")
        return
    show(f"{len(names)} proposals wait" if len(names) > 1 else "1 proposal waits")
    for name in names[shown:]:
        show(f"  kb skills queue {name}")


def show_difference(found: Difference) -> None:
    for what, lines in (("text", found.text), ("code", found.code)):
        show(f"{what}: the same" if not lines else f"{what}:")
        for line in lines:
            show(f"  {line}")
        show()
    for task, evidence in found.evidence.items():
        show_wrapped(task)
        _show_evidence(evidence)


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


def show_imported(done: Sequence[Imported], *, dry_run: bool) -> None:
    for one in done:
        taken = "would be proposed" if dry_run else "proposed"
        show_wrapped(f"{one.name}: {taken if one.proposed else one.reason}")
        for finding in one.findings:
            show_wrapped(str(finding), "  ")
    show(f"{sum(one.proposed for one in done)} proposals; `kb skills queue` shows what waits")


def _show_part(what: str, texts: Iterable[str]) -> None:
    for head, text in zip((what, *[""] * 1000), texts, strict=False):
        show_wrapped(text, f"{head:<{_HEAD}}")


def _show_lines(lines: Sequence[str], command: str) -> None:
    texts = [line for line in lines if line.strip()]
    show_table((), [(line,) for line in texts[:LINES_SHOWN]], cut={0}, indent=2)
    _show_rest(len(texts) - LINES_SHOWN, command)


def _wrapped(text: str) -> Iterator[str]:
    """The lines of a text in Markdown, on a terminal wrapped to its width except in fences."""
    width, code = screen_width(), False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        code ^= fence
        if width is None or code or fence:
            yield line
        else:
            indent = "  " * line.startswith("- ")
            yield from textwrap.wrap(
                line, width - 2, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            ) or [""]


def _show_rest(left: int, command: str) -> None:
    if left > 0:
        show(f"  {left} more: {command}")


def _show_evidence(evidence: Sequence[Measured]) -> None:
    """Show measurements; machine and tools only once if they were the same for several."""
    rows, places = [], [_place(one.evidence) for one in evidence]
    once = len(places) > 1 and len(set(places)) == 1
    for one, place in zip(evidence, places, strict=True):
        found, trust = one.evidence, one.trust if one.own else f"{one.trust}; of other code"
        came = found.outcome if found.passed else f"{found.outcome}: {short(found.detail, 80)}"
        came += " while the machine was busy" if found.timing and found.timing.busy else ""
        said = "; ".join(
            filter(None, (f"{found.task} on {found.target}", "" if once else place, came, found.created[:10]))
        )
        rows.append((_number(found.speedup), one.interval or "-", trust, said))
    show_table(("speed-up", "95 % interval", "trust", "where, when and what"), rows, wrap={2, 3}, indent=2)
    if once:
        show_wrapped(places[0], "  all on ")


def _place(evidence: Evidence) -> str:
    """Machine and tools."""
    tools = (f"{name} {_version(said)}" for name, said in evidence.environment.items() if name != "machine")
    return ", ".join((evidence.environment.get("machine", "unknown machine"), *tools))


def _applies(when: Preconditions) -> str:
    return "; ".join(filter(None, (" ".join(when.ops), " ".join(when.dtypes))))


def _version(text: str) -> str:
    """The last version number in the text; the text if there is none."""
    return next(iter(re.findall(r"\d+(?:\.\d+)+[\w.+-]*", text)[::-1]), text)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
