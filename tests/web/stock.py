"""A small home with everything that the page shows, which may say what a test wants it to say."""

from pathlib import Path

from reportlab.pdfgen.canvas import Canvas

from kb.runs.entries import JournalEntry
from kb.runs.journal import Plan, Run, SynthesizerKind
from kb.types.fact import FactAnswer
from kb.types.kernels import Task
from kb.types.protocols import Proposal
from kb.usecases.knowledge_base import KnowledgeBase
from tests.skillbook.evidence import kernel, refused
from tests.usecases.skills import proposed, today

CHIP, MANUAL, PDF = "zchip", "zchip/manual.md", "zchip/guide.pdf"


def stock(kb: KnowledgeBase, folder: Path, said: str = "as usual") -> Run:
    """Ingest a manual and a PDF of a chip, answer two facts, propose two skills, and start a run of two candidates.

    Args:
        folder: Where the files are written.
        said: Words that stand in each of them.
    """
    (folder / CHIP).mkdir(parents=True)
    (folder / MANUAL).write_text(
        f"# Manual {said}\n\n## Memory {said}\n\nEach cluster has 128 KiB of tightly coupled memory {said}.\n\n"
        f"| Part {said} | Size (KiB) |\n|---|---|\n| Scratch {said} | 48 |\n\n## Code\n\n```c\nint x; // {said}\n```\n",
        encoding="utf-8",
    )
    pages = Canvas(str(folder / PDF))
    for number in (1, 2):
        pages.drawString(72, 700, f"Page {number} says that a queue has {number}6 entries.")
        pages.showPage()
    pages.save()
    kb.ingest([folder / CHIP], target=CHIP, parent="any")
    answers = [
        FactAnswer(quantity="tcm_size", value="128", unit="KiB", quote="128 KiB of tightly coupled memory"),
        FactAnswer(quantity="queue_depth", value="26", condition=said, quote="a queue has 26 entries"),
    ]
    assert kb.answer_facts(CHIP, answers).refused == ()
    code = kernel(f"# {said}\nclass ModelNew: ...")
    proposed(kb, "softmax-old", body=f"# Old {said}", candidate=code)
    proposed(kb, "softmax-new", description=f"New {said}", body="# New", candidate=kernel("# new\nclass ModelNew: ..."))
    return run(kb, said)


def run(kb: KnowledgeBase, said: str = "as usual") -> Run:
    """A run with a candidate that passed and one that was refused."""
    task = Task(name="row-softmax", source=f"# {said}\nclass Model: ...\n")
    plan = Plan(
        task=task, target=CHIP, language="triton", synthesizer=SynthesizerKind.AUTHORS, authors=(said,), evaluations=9
    )
    started, code = kb.runs.start(plan), kernel(f"# {said}\nclass ModelNew: ...")
    for step, seen in enumerate((today(code), refused(code, detail=said)), start=1):
        judge(started, step, note=f"note {said}", seen=seen)
    return started


def judge(run: Run, step: int, *, note: str, seen: object = None) -> None:
    """Append a judged candidate to a run's journal."""
    code = kernel(f"# {note}\nclass ModelNew: ...")
    proposal = Proposal(candidate=code, note=note, author=note, skills_used=("softmax-old",))
    run.append(JournalEntry(kind="proposed", step=step, proposal=proposal))
    run.append(JournalEntry(kind="judged", step=step, evidence=seen or today(code)))
