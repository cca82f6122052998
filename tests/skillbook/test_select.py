"""Skills are selected by what they apply to, and ranked for reasons that can be read."""

from dataclasses import replace
from typing import Any

import pytest

from kb.skillbook.operations import Operations, operations_of, stated_for
from kb.skillbook.select import PROOF, Need, Selection, select
from kb.types.evidence import Evidence, Grade
from kb.types.kernels import Interface, Task, TensorSpec
from kb.types.skill import Preconditions, Skill, SkillKind, SkillStanding
from tests.skillbook.evidence import KERNEL, TASK, evidence, kernel, refused, skill
from tests.skillbook.neighbourhood import neighbourhood, selected

X = TensorSpec(name="x", shape=(64, 1024), dtype="float32")
INTERFACE = Interface(inputs=(X,), state=(), outputs=(X,), init=())
SOFTMAX = Operations(named=frozenset({"softmax"}), called=frozenset({"softmax", "exp"}))
NEED = Need(
    words="softmax",
    operations=SOFTMAX,
    target="mi300x",
    scope=frozenset({"mi300x", "cdna3", "any"}),
    siblings=frozenset({"mi250x"}),
    language="triton",
    interface=INTERFACE,
)


def chosen(*skills: Skill, need: Need = NEED, standings: dict[str, str] | None = None, ships: bool = True) -> Selection:
    return select(
        need,
        skills,
        standings={one.name: SkillStanding((standings or {}).get(one.name, "hypothesis")) for one in skills},
        ships=lambda name: ships,
    )


def names(selection: Selection) -> list[str]:
    return [recalled.skill.name for recalled in selection.offered]


def wanting(**preconditions: Any) -> Preconditions:
    return Preconditions(**{"ops": ("softmax",)} | preconditions)


REFUSED = {
    "it is retired": {"standings": {"softmax": "retired"}},
    "it is for hopper": {"target": "hopper"},
    "it is in cpp": {"candidate": kernel("x", "cpp")},
    "it is for other operations: matmul, mm": {"preconditions": wanting(ops=("matmul", "mm"))},
    "it is for float16; the task has float32": {"preconditions": wanting(dtypes=("float16",))},
    "it has not won here, nor passed this task": {"ships": False},
    "nobody accepted it": {"ships": False, "kind": SkillKind.PLAYBOOK},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_skill_that_does_not_apply_is_refused_with_the_reason(reason: str) -> None:
    fields = dict(REFUSED[reason])
    given = {name: fields.pop(name) for name in ("standings", "ships") if name in fields}

    selection = chosen(skill(**fields), **given)

    assert (names(selection), [refusal.reason for refusal in selection.refused]) == ([], [reason])


def test_every_skill_is_either_offered_or_refused() -> None:
    skills = [skill(f"{target}-softmax", target=target) for target in ("mi300x", "any", "hopper", "mi250x", "cdna3")]

    selection = chosen(*skills)

    assert {*names(selection), *(refusal.name for refusal in selection.refused)} == {s.name for s in skills}


def test_the_target_itself_comes_before_its_family_and_that_before_any() -> None:
    skills = [skill(f"softmax-{target}", target=target) for target in ("any", "cdna3", "mi300x")]

    assert names(chosen(*skills)) == ["softmax-mi300x", "softmax-cdna3", "softmax-any"]


def test_a_win_on_a_sibling_is_offered_last_as_a_hypothesis_without_its_kernel() -> None:
    skills = skill("softmax-sibling", target="mi250x", evidence=(evidence(speedup=2.0),)), skill("softmax")

    offered = chosen(*skills, standings={"softmax-sibling": "verified"}).offered

    assert [one.skill.name for one in offered] == ["softmax", "softmax-sibling"]
    assert (offered[1].standing, offered[1].skill.candidate) == (SkillStanding.HYPOTHESIS, None)


def test_kernels_for_a_part_of_the_task_are_offered_only_if_there_is_none_for_the_whole() -> None:
    part = skill("exponential", preconditions=wanting(ops=("exp",)))

    assert names(chosen(part)) == ["exponential"]
    assert names(chosen(part, skill("softmax"))) == ["softmax"]


def test_a_technique_for_any_operation_is_offered_after_the_kernel() -> None:
    technique = skill("wide-loads", kind=SkillKind.TECHNIQUE, language=None, candidate=None)

    assert names(chosen(technique, skill("softmax"))) == ["softmax", "wide-loads"]


def test_of_equal_skills_the_better_proven_comes_first() -> None:
    best_first = sorted(PROOF, key=PROOF.__getitem__, reverse=True)
    skills = [skill(f"softmax-{standing}", evidence=(evidence(),)) for standing in reversed(best_first)]
    need = replace(NEED, task=TASK.digest)

    selection = chosen(*skills, need=need, standings={f"softmax-{standing}": standing for standing in best_first})

    assert names(selection) == [f"softmax-{standing}" for standing in best_first]


@pytest.mark.parametrize("grade", [Grade.COMPILED, Grade.SIMULATED])
def test_a_kernel_that_was_never_timed_is_offered_for_the_task_that_it_passed_and_no_other(grade: Grade) -> None:
    passed = skill("softmax-passed", evidence=(evidence(grade=grade),))
    refusals = skill("softmax-refused", evidence=(refused(KERNEL), evidence(kernel("other"))))
    standings = dict.fromkeys(("softmax-passed", "softmax-refused"), "screened")

    def offered(task: str) -> list[str]:
        return names(chosen(passed, refusals, need=replace(NEED, task=task), standings=standings, ships=False))

    assert (offered(TASK.digest), offered("another task"), offered("")) == (["softmax-passed"], [], [])
    (shipped,) = chosen(passed, standings=standings).offered
    assert shipped.standing == "hypothesis", "what ships is offered as if it had never been tried"


def test_of_equal_scores_the_shortest_time_on_the_task_comes_first_whatever_its_speed_up() -> None:
    fast, slow = kernel("fast"), kernel("slow")
    beside_a_slow_baseline = evidence(slow, speedup=1.5).model_dump()
    for session in beside_a_slow_baseline["timing"]["sessions"]:
        session |= {"baseline_us": (600.0,), "candidate_us": (200.0,), "speedup": 3.0, "low": 2.9, "high": 3.1}
    timed = Evidence.model_validate(beside_a_slow_baseline)
    skills = [
        skill("softmax-a", candidate=slow, evidence=(timed,)),
        skill("softmax-b", candidate=fast, evidence=(evidence(fast, speedup=1.5),)),
    ]

    selection = chosen(
        *skills, need=replace(NEED, task=TASK.digest), standings=dict.fromkeys(["softmax-a", "softmax-b"], "verified")
    )

    assert len({round(one.score, 3) for one in selection.offered}) == 1
    assert names(selection) == ["softmax-b", "softmax-a"]


def test_of_wins_with_the_same_kernel_the_one_at_the_nearest_sizes_comes_first_whatever_it_gained() -> None:
    wins = {"far": (2, 65536, 3.0), "near": (128, 4096, 1.1), "same": (64, 1024, 1.2), "older": None}
    skills = []
    for name, win in wins.items():
        rows, cols, speedup = win or (0, 0, 2.0)
        sizes = {"rows": rows, "cols": cols, "count": rows * cols} if win else {}
        skills.append(skill(f"softmax-{name}", evidence=(evidence(speedup=speedup, sizes=sizes),)))

    selection = chosen(*skills, standings=dict.fromkeys((one.name for one in skills), "verified"))

    assert names(selection) == ["softmax-same", "softmax-near", "softmax-far", "softmax-older"]
    assert [reason.worth for one in selection.offered for reason in one.reasons if "doublings" in reason.text] == [
        pytest.approx(0.32), pytest.approx(0.26), pytest.approx(0.1),
    ]  # fmt: skip
    assert "it won at sizes 3 doublings away" in [reason.text for reason in selection.offered[1].reasons]


def test_a_pitfall_that_matches_the_diagnosis_comes_before_one_that_does_not() -> None:
    pitfalls = [
        skill(name, kind=SkillKind.PITFALL, language=None, candidate=None, description=text, body=text)
        for name, text in (("a", "Rows overlap."), ("b", "Registers spill to memory."))
    ]
    need = Need(operations=SOFTMAX, diagnosis=("register pressure and spills",))

    assert names(chosen(*pitfalls, need=need)) == ["b", "a"]


def test_the_score_is_the_sum_of_the_reasons() -> None:
    (recalled,) = chosen(skill(), standings={"softmax": "verified"}).offered

    assert {reason.text: reason.worth for reason in recalled.reasons} == {
        "its operation is the one that is asked for": 2.0,
        "100% of the best match with the words": 1.0,
        "it is verified": 0.9,
        "it is for the target itself": 0.4,
    }
    assert recalled.score == pytest.approx(4.3)


def test_a_proven_skill_that_only_mentions_the_words_of_a_search_comes_after_one_for_them() -> None:
    mentions = skill("matmul", description="Matmul.", body="Unlike a softmax it reads each row often.")
    need = Need(words="softmax")

    assert names(chosen(mentions, skill(), need=need, standings={"matmul": "verified"})) == ["softmax", "matmul"]


@pytest.mark.parametrize("count", [20, 50, 200])
def test_the_right_one_of_many_near_twins_comes_first(count: int) -> None:
    """They differ in operation, data type, target or wording alone."""
    neighbours = neighbourhood(count)
    assert len(neighbours) == count

    right = [names(selected(neighbours, need))[:1] == [skill.name] for skill, need in neighbours]

    assert sum(right) >= 0.95 * count


# Operations


@pytest.mark.parametrize(
    ("name", "source", "named", "called"),
    [
        ("row-softmax-2", "torch.softmax(x, -1)", {"row", "softmax", "rowsoftmax"}, {"softmax"}),
        ("cross-entropy", "a @ b", {"cross", "entropy", "crossentropy"}, {"matmul"}),
        ("norm", "nn.functional.layer_norm(x).clamp(0)", {"norm"}, {"layernorm", "clamp"}),
        ("gemm-bias", "nn.Linear(3, 4)(x)", {"matmul", "bias", "gemmbias"}, {"matmul"}),
        ("linear-unit", "self.linear(super().__init__(x))", {"linear", "unit", "linearunit"}, set()),
        ("a-b-c-d-e", "x", {*"abcde", "ab", "bc", "cd", "de", "abc", "bcd", "cde", "abcd", "bcde", "abcde"}, set()),
    ],
)
def test_operations_are_the_words_of_the_name_and_the_calls_in_the_source(
    name: str, source: str, named: set[str], called: set[str]
) -> None:
    found = operations_of(Task(name=name, source=f"class Model:\n    y = {source}\n\ndef get_inputs(): rand()\n"))

    assert (found.named, found.called) == (named, called)


@pytest.mark.parametrize(
    ("name", "source", "stated"),
    [
        ("row-softmax-2", "torch.softmax(x, -1)", ("row-softmax", "softmax")),
        ("softmax", "torch.softmax(x, -1)", ("softmax",)),
        ("exclusive-cumsum", "torch.cat((x, x.cumsum(-1)))", ("exclusive-cumsum",)),
        ("47", "x + 1", ("47",)),
        ("67-conv2d-gelu", "self.conv = nn.Conv2d(3, 4, 3); F.gelu(self.conv(x))", ("conv2d-gelu", "conv2d")),
        ("56-sigmoid-sum", "torch.sum(nn.Linear(3, 4)(x).sigmoid())", ("sigmoid-sum", "matmul")),
        ("10-network", "nn.Linear(3, 4)(nn.Conv2d(3, 4, 3)(x))", ("network",)),
    ],
)
def test_a_skill_states_the_operations_of_the_task_that_it_was_learnt_from(
    name: str, source: str, stated: tuple[str, ...]
) -> None:
    assert stated_for(Task(name=name, source=f"class Model:\n    y = {source}\n")) == stated


CONVOLVED = "class Model:\n    layer = nn.Conv2d(3, 8, 3)\n    y = {more}(layer(x))\n"


@pytest.mark.parametrize(
    ("source", "offered"),
    [
        (CONVOLVED.format(more="torch.tanh"), True),
        ("class Model:\n    y = nn.Conv3d(3, 8, 3)(x)\n", False),
        ("class Model:\n    y = F.gelu(x)\n", False),
    ],
    ids=["the same product", "another product", "another part"],
)
def test_a_skill_from_one_task_is_offered_for_another_with_the_same_product(source: str, offered: bool) -> None:
    learnt = stated_for(Task(name="1-conv2d-gelu", source=CONVOLVED.format(more="F.gelu")))
    need = replace(NEED, operations=operations_of(Task(name="2-other", source=source)))

    selection = chosen(skill(preconditions=Preconditions(ops=learnt)), need=need)

    assert bool(names(selection)) is offered
