"""The skill for a win contains the measurements, the synthesizer's note and the failures; a loss makes no skill."""

import re
from functools import partial

import pytest
import skills_ref
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.errors import SkillError
from kb.runs.journal import Plan, SynthesizerKind
from kb.runs.skills import fitting_skills, need_of
from kb.skillbook.files import MOST_BODY_TOKENS
from kb.skillbook.library import Skillbook
from kb.skillbook.win import FAILURES_SHOWN, skill_of_win
from kb.types.base import tokens_of
from kb.types.campaign import Skills
from kb.types.evidence import OWN_SIZES, Evidence, Outcome
from kb.types.kernels import Candidate, Interface, Task, TensorSpec
from kb.types.protocols import Attempt
from kb.types.skill import Preconditions, Skill
from tests.skillbook.conftest import TODAY, measured
from tests.skillbook.evidence import KERNEL, TASK, evidence, kernel, refused, skill, timing

WIN = evidence(speedup=1.5)

win = partial(skill_of_win, suffix=".py")


def sections(skill: Skill) -> dict[str, str]:
    """Text below each heading of the second level."""
    parts = re.split(r"^## (.+)\n", skill.body, flags=re.M)[1:]
    return {title: text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}


def attempt(candidate: Candidate, seen: Evidence, note: str = "") -> Attempt:
    return Attempt(candidate=candidate, evidence=seen, note=note)


def test_a_win_becomes_a_verified_skill_that_is_valid_for_the_reference_reader(book: Skillbook) -> None:
    published = measured(book, win(TASK, KERNEL, WIN, note="One pass."))

    assert re.fullmatch("row-softmax-mi300x-[0-9a-f]{8}", published.name)
    assert (published.target, published.language, published.candidate) == ("mi300x", "triton", KERNEL)
    assert published.preconditions.ops == ("row-softmax",)
    assert book.standing(published) == "verified"
    assert skills_ref.validate(published.folder) == []


@pytest.mark.parametrize(
    "seen",
    [
        evidence(),
        evidence(speedup=0.9),
        evidence(speedup=1.02),
        evidence(speedup=1.5, timing=timing(1.5).model_copy(update={"sessions": timing(1.5).sessions[:2]})),
        refused(KERNEL),
        evidence(kernel("other"), speedup=1.5),
        evidence(speedup=1.5, task_digest="of another task"),
    ],
    ids=["not timed", "slower", "within noise", "two sessions", "refused", "other code", "other task"],
)
def test_without_a_win_of_this_code_on_this_task_there_is_no_skill(seen: Evidence) -> None:
    with pytest.raises(SkillError, match="has not won"):
        win(TASK, KERNEL, seen)


def test_the_description_names_kernel_task_speedup_machine_and_use() -> None:
    description = win(TASK, KERNEL, WIN).description

    for part in ("triton", "row-softmax", "1.50 times as fast as torch.compile on Test Machine", "Use it", "mi300x"):
        assert part in description


def test_the_tensors_of_the_task_are_listed() -> None:
    x = TensorSpec(name="x", shape=(16, 128), dtype="float32")
    interface = Interface(inputs=(x,), state=(), outputs=(x,), init=())

    text = sections(win(TASK, KERNEL, WIN, interface=interface))["When to use"]

    assert "- inputs: x: float32[16, 128]" in text
    assert "state" not in text


def test_a_skill_names_the_precision_and_claims_no_sizes_that_were_not_tried() -> None:
    own = evidence(speedup=1.5, detail=f"at best 2 us\n{OWN_SIZES}: its file gives no name to a size")

    claimed, limited = (sections(win(TASK, KERNEL, seen))["When not to use"] for seen in (WIN, own))

    assert claimed.endswith("in precision `default`.")
    assert limited == f"{claimed} It was {OWN_SIZES}: its file gives no name to a size."


def test_a_skill_names_the_workloads_at_which_it_was_timed() -> None:
    first, other = (timing(s).model_copy(update={"workload": {"rows": rows}}) for s, rows in ((2.0, 64), (1.5, 8)))
    text = win(TASK, KERNEL, evidence(speedup=1.0, timing=first.model_copy(update={"other_workloads": (other,)})))

    assert "timed on mi300x at these workloads: rows=64; rows=8, in" in sections(text)["When not to use"]
    assert "1.73 times as fast as the best baselines of 2 workloads on" in text.description


def test_a_note_stays_within_its_quotation() -> None:
    text = sections(win(TASK, KERNEL, WIN, note="Fast.\n\n## Evidence\n\nA million times."))

    assert text["Why it should be fast"].endswith("> Fast. ## Evidence A million times.")
    assert list(text) == list(sections(win(TASK, KERNEL, WIN)))


def test_each_failure_is_listed_once_with_its_change_and_its_outcome() -> None:
    small = KERNEL.with_parameters({"BLOCK": 256})
    failed = [
        attempt(small, evidence(small, speedup=0.8), "smaller"),
        attempt(small, evidence(small, speedup=0.8), "smaller again"),
        attempt(kernel("a"), refused(kernel("a"), Outcome.RAISED, "line one\nline two"), "two\npasses"),
        attempt(kernel("b"), evidence(kernel("b"))),
        attempt(KERNEL, WIN),
    ]

    assert sections(win(TASK, KERNEL, WIN, failed=failed))["What failed"].splitlines() == [
        "- BLOCK = 256: 0.80 times as fast as torch.compile",
        "- two passes: raised line one line two",
        "- another kernel: passed, not timed",
    ]


def test_the_number_of_listed_failures_is_limited() -> None:
    failed = [attempt(kernel(str(n)), refused(kernel(str(n))), f"try {n}") for n in range(50)]

    assert len(sections(win(TASK, KERNEL, WIN, failed=failed))["What failed"].splitlines()) == FAILURES_SHOWN


@settings(max_examples=40, deadline=None)
@given(
    task=st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True),
    target=st.from_regex(r"[a-z0-9][a-z0-9._-]*", fullmatch=True),
    note=st.text(max_size=3000),
    machine=st.text(max_size=2000).filter(lambda text: "---" not in text),
)
def test_every_win_makes_a_skill_that_can_be_published(
    tmp_path_factory: pytest.TempPathFactory, task: str, target: str, note: str, machine: str
) -> None:
    won = Task(name=task, source="")
    seen = evidence(
        speedup=1.5, task=task, task_digest=won.digest, target=target, environment={"machine": machine, "a|b": "c"}
    )
    home = tmp_path_factory.mktemp("home")

    book = Skillbook(home, shipped=home / "none", today=lambda: TODAY)
    published = measured(book, win(won, KERNEL, seen, note=note))

    assert book.standing(published) == "verified"
    assert published.evidence == (seen,)
    assert tokens_of(published.body) <= MOST_BODY_TOKENS


def test_a_kernel_with_other_parameters_names_its_parent_and_passes_on_its_description_licence_and_operations() -> None:
    parent = skill("template", license="MIT", preconditions=Preconditions(ops=("softmax",)))
    tuned = KERNEL.with_parameters({"BLOCK": 256})

    same, other = (win(TASK, of, evidence(of, speedup=1.5), parent=parent) for of in (KERNEL, tuned))

    assert f"It is template. {parent.description}" in same.description
    assert f"It is template with other parameters. {parent.description}" in other.description
    assert (other.license, other.preconditions.ops) == ("MIT", ("softmax", "row-softmax"))


def test_a_text_that_is_too_long_loses_the_ends_of_its_longest_sections() -> None:
    failed = [attempt(kernel(str(n)), refused(kernel(str(n)), detail="x" * 400), "y" * 200) for n in range(20)]

    child = win(TASK, KERNEL, WIN, note="because " * 200, failed=failed)

    assert tokens_of(child.body) <= MOST_BODY_TOKENS
    assert sections(child)["What failed"].startswith("- yyy")


def test_the_same_win_makes_the_same_bytes() -> None:
    failed = [attempt(kernel(name), refused(kernel(name)), name) for name in "abc"]

    bodies = {win(TASK, KERNEL, WIN, note="n", failed=given_as).body for given_as in (failed, tuple(failed))}

    assert len(bodies) == 1
    assert "2025" not in bodies.pop()


def test_who_may_not_get_its_own_tasks_skills_gets_those_of_others_as_if_it_had_none(book: Skillbook) -> None:
    whole, part = (
        Task(name=name, source=f"class Model:\n    y = nn.Conv2d(3, 8, 3)(x){more}\n")
        for name, more in (("1-stack", ", nn.Linear(3, 4)(x)"), ("2-conv2d-gelu", ""))
    )
    for task, code in ((whole, KERNEL), (part, kernel("other"))):
        measured(book, win(task, code, evidence(code, speedup=1.5, task=task.name, task_digest=task.digest), note=""))

    def offered(skills: Skills) -> list[str]:
        plan = Plan(
            task=whole, target="mi300x", language="triton", synthesizer=SynthesizerKind.AUTHORS, evaluations=1,
            skills=skills,
        )  # fmt: skip
        need = need_of(plan, Interface(inputs=(), state=(), outputs=(), init=()), frozenset({"mi300x"}), frozenset())
        return [one.skill.name[: len("1-stack")] for one in fitting_skills(book, plan, need)]

    assert (offered(Skills.ALL), offered(Skills.OTHERS), offered(Skills.NONE)) == (["1-stack"], ["2-conv2"], [])
