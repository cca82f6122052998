"""Carry the tuner to the machine with the device, which a carried campaign leaves out, and what it found back.

kb campaign search-arms.toml                                    # asks the authors, and packs a batch
python -m benchmarks.arms_batch pack search-arms-batch-1        # adds the tuner to it
cd search-arms-batch-1 && python arms_judge.py                  # there
python -m benchmarks.arms_batch take search-arms-batch-1        # then `kb campaign` again

Runs of such a campaign write no skills. If arms have rules, `take` writes down what mended refused kernels, as kb does
after other runs; with `skills = "others"` a run gets rules of other tasks alone.
"""

import argparse
import json
import shutil
from collections import defaultdict
from pathlib import Path

import kb
from benchmarks.arms_judge import TUNED, WANTED
from eval.batch.pack import ROOT, read_batch
from eval.languages.registry import language_named
from kb.runs.journal import JournalEntry, Rules, Run
from kb.runs.rules import learnt, tried
from kb.types.evidence import Evidence
from kb.types.protocols import Proposal, Tried
from kb.usecases.batches import take
from kb.usecases.judging import interface_of
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.running import loop_of

TUNER = ("synth/__init__.py", "synth/search/__init__.py", "synth/search/moves.py", "synth/search/tuner.py")
TAKEN = "taken"
"""How many lines of what was tuned are in the home already."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["pack", "take"])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    with kb.open() as home:
        (pack if options.step == "pack" else take_back)(home, options.folder)


def pack(home: KnowledgeBase, folder: Path) -> None:
    """Add the tuner to a batch, and the list of the kernels that it tunes: those of runs that search on two levels."""
    wanted = defaultdict[str, list[dict[str, object]]](list)
    for entry in read_batch(folder).entries.values():
        run, kernel = home.runs.get(entry.run), entry.proposal.candidate
        is_known = any(one.template == kernel.template_digest for one in run.tried)
        is_tuned = run.plan.search == "two-level" and "tuner" not in run.plan.without
        if is_tuned and kernel.parameters and not is_known:
            proposal = entry.proposal.model_dump(mode="json")
            found = {"run": run.id, "number": run.step, "seed": run.plan.seed, "proposal": proposal}
            wanted[kernel.digest].append(found)
    for name in TUNER:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    shutil.copyfile(Path(__file__).with_name("arms_judge.py"), folder / "arms_judge.py")
    (folder / WANTED).write_text(json.dumps(wanted), encoding="utf-8")


def take_back(home: KnowledgeBase, folder: Path) -> None:
    """Take the verdicts into the runs, and then each line of what was tuned, once."""
    taken = take(home, folder)
    for missing in taken.missing:
        print(missing)
    place, file = folder / TAKEN, folder / TUNED
    done = int(place.read_text(encoding="utf-8")) if place.exists() else 0
    lines = file.read_text(encoding="utf-8").split("\n")[:-1] if file.exists() else []  # the last may be cut short
    for number, line in enumerate(lines[done:], start=done + 1):
        found = json.loads(line)
        run = home.runs.get(found["run"])
        if "tried" in found:
            with run.held():
                run.append(JournalEntry(kind="tried", step=run.step, tried=Tried.model_validate(found["tried"])))
        else:
            pair = Proposal.model_validate(found["proposal"]), Evidence.model_validate(found["evidence"])
            loop = loop_of(home, run, language=language_named(run.plan.language))
            loop.take([pair], interface_of(run.plan.task), batch=taken.batch)
        place.write_text(f"{number}", encoding="utf-8")
    for name in sorted({entry.run for entry in read_batch(folder).entries.values()}):
        learn(home, home.runs.get(name))


def learn(home: KnowledgeBase, run: Run) -> None:
    """Keep the rules of a run of an arm that has rules, unless one says the same, and what became of those it had."""
    if run.plan.rules is Rules.NONE:
        return
    home.skills.attest(*(attempt.evidence for attempt in run.attempts))
    for rule in tried(home.skills, run.attempts) if run.plan.rules is Rules.LEARNT else ():
        home.skills.publish(rule)
    suffix, known = language_named(run.plan.language).suffix, {skill.gist for skill in home.skills.skills()}
    for _, rule in learnt(run.plan, run.attempts, suffix=suffix, licence=home.skills.licence):
        if rule.gist not in known:
            home.skills.publish(rule)
            print(f"rule: {rule.description}")


if __name__ == "__main__":
    main()
