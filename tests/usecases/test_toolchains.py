"""A chip that only its vendor's tools know, added as a user would: one TOML file in the home."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import kb as knowledge
from eval.judge.driver import LocalJudge
from eval.languages.toolchain import language_of_toolchain
from eval.oracle.task import load_task
from eval.supervisor.folder import FOLDER
from kb.errors import JudgeError, KbError, ToolchainError
from kb.types.evidence import Grade, Outcome
from kb.types.kernels import Candidate, Task
from kb.usecases.toolchains import SHIPPED, load
from tests.eval.judging import needs_linux, needs_sandbox

SIMULATOR = Path(__file__).with_name("toy_simulator.py")
TOY = r"""
title = "A toy chip"
targets = ["toy"]
grade = "simulated"
run = "{python} {here}/simulator.py {candidate} {lanes}"
variants = [{ lanes = "24" }, { lanes = "48" }]
example = "right.toy"
needs = [{ package = "numpy", install = "pip install numpy" }]
environment = { PYTHONPATH = "{contract}" }
cycles = "took ([0-9]+) cycles"
limits = { seconds = 20, memory_mb = 2048, output_mb = 8, elements = 4096 }
messages = [
  { pattern = "scratchpad .* exceeds", outcome = "over_limit", quantity = "scratchpad_bytes" },
  { pattern = "illegal opcode", outcome = "unsupported" },
]

[language]
name = "toyasm"
suffix = ".toy"
fences = ["toyasm"]
rules = "One word per line."
tunable = ""
"""
TASK = load_task(SHIPPED / "scaled_add.py")
LARGE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum()

def get_inputs():
    return [torch.rand(1 << 16)]

def get_init_inputs():
    return []
"""
RIGHT = "alloc 64\ntwice-a\nadd-b\ncost 17\ncost 1700\n"

pytestmark = [needs_linux]


def write_toy(home: Path) -> None:
    folder = home / "toolchains"
    folder.mkdir(parents=True)
    (folder / "toy.toml").write_text(TOY)
    (folder / "right.toy").write_text(RIGHT)
    shutil.copy(SIMULATOR, folder / "simulator.py")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_toy(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def kb(home: Path, judge_here: None) -> "knowledge.KnowledgeBase":
    with knowledge.open(home) as opened:
        opened.target_tree.add("toy", parent="any", title="", aliases=[])
        yield opened


def verdict(kb: "knowledge.KnowledgeBase", source: str):
    return kb.verify(TASK, Candidate(language="toyasm", source=source), "toy")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def judge(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalJudge]:
    """One judge in a process of its own for many candidates, because it starts slowly."""
    home = tmp_path_factory.mktemp("home")
    write_toy(home)
    language = language_of_toolchain(load(home / "toolchains" / "toy.toml"), None, cache)
    with LocalJudge(TASK, target="toy", isa=None, facts=(), cache=cache, toolchain=language) as judge:
        yield judge


@pytest.mark.slow
def test_the_example_of_a_toolchain_passes_with_its_grade_and_the_cycles_of_the_longest_call_are_no_time(kb) -> None:
    evidence = kb.toolchains.check("toy")

    assert evidence.passed, evidence
    assert evidence.grade is Grade.SIMULATED
    assert "counted 1,700 cycles for the longest call" in evidence.detail
    assert evidence.cycles == 1700
    assert evidence.timing is None
    assert evidence.environment["toolchain"] == "toy"
    assert len(evidence.cases) > 4


@pytest.mark.parametrize(
    ("source", "outcome", "said"),
    [
        ("twice-a\n", Outcome.INCORRECT, "elements are wrong"),
        ("alloc 5000\n", Outcome.OVER_LIMIT, "scratchpad of 5000 bytes exceeds"),
        ("vexotic\n", Outcome.UNSUPPORTED, "illegal opcode vexotic"),
        ("nothing\n", Outcome.BAD_OUTPUT, "wrote no output_0.bin"),
        ("short\n", Outcome.BAD_OUTPUT, "output_0.bin is not of"),
        ("twice-a\nadd-b\ndouble\n", Outcome.RAISED, "float64"),
        ("crash\n", Outcome.CRASHED, "SIGSEGV"),
        ("hoard\n", Outcome.RAISED, "MemoryError"),
        ("flood\n", Outcome.RAISED, "more than is allowed"),
        pytest.param("start\n", Outcome.RAISED, "Operation not permitted", marks=needs_sandbox),
        pytest.param("become\n", Outcome.RAISED, "Operation not permitted", marks=needs_sandbox),
        pytest.param("peek /etc/passwd\n", Outcome.RAISED, "PermissionError", marks=needs_sandbox),
    ],
)
def test_each_mistake_has_its_own_outcome(judge: LocalJudge, source: str, outcome: Outcome, said: str) -> None:
    evidence = judge.verify(Candidate(language="toyasm", source=source))

    assert evidence.outcome is outcome, evidence
    assert said in evidence.detail
    assert evidence.grade is None


def test_a_draw_that_refused_a_candidate_on_a_later_variant_is_kept(judge: LocalJudge, cache: Path) -> None:
    shutil.rmtree(cache / "refused", ignore_errors=True)  # those of other tests

    wrong = judge.verify(Candidate(language="toyasm", source="twice-a\nadd-b\nlanes 24\n"))

    [draws] = (cache / "refused").iterdir()
    assert len(draws.read_text().splitlines()) == 1
    assert wrong.outcome is Outcome.INCORRECT
    assert wrong.detail.endswith("(lanes=48)")


def test_what_only_builds_needs_no_cases(kb, home: Path) -> None:
    lines = [line for line in TOY.splitlines() if not line.startswith(("run", "variants", "cycles"))]
    lines.insert(0, 'build = "{python} -c pass"')
    only_built = "\n".join(lines).replace("simulated", "compiled")
    (home / "toolchains" / "toy.toml").write_text(only_built)
    large = Task(name="large", source=LARGE)

    evidence = kb.verify(large, Candidate(language="toyasm", source=RIGHT), "toy")

    assert (evidence.outcome, evidence.grade, evidence.cases) == (Outcome.PASSED, Grade.COMPILED, ())


def test_a_run_that_hangs_is_ended(kb, home: Path) -> None:
    file = home / "toolchains" / "toy.toml"
    file.write_text(TOY.replace("seconds = 20", "seconds = 3"))

    assert verdict(kb, "spin\n").outcome is Outcome.TIMED_OUT


def test_nothing_is_left_behind(kb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    assert verdict(kb, "crash\n").outcome is Outcome.CRASHED
    assert not list((tmp_path / "temporary").glob(f"{FOLDER}*"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{lanes}", "{lames}", "{lames} in"),
        ('grade = "simulated"', 'grade = "measured"', "only a real chip can be measured"),
        ('grade = "simulated"', 'grade = "compiled"', "one that is `compiled` has none"),
        ('grade = "simulated"', 'grade = "simulated"\nscreen = true', "`screen` is for what is only built"),
        ('package = "numpy"', 'package = "numpy", command = "x"', "either a command or a package"),
        ("illegal opcode", "illegal (opcode", "messages"),
        ("took ([0-9]+) cycles", "took [0-9]+ cycles", "must have one group"),
        ('title = "A toy chip"', "title = ", "cannot be read"),
        ('name = "toyasm"', 'name = "Toy Asm"', "language.name"),
        ("seconds = 20", "seconds = 0", "limits.seconds"),
        ('targets = ["toy"]', "targets = []", "targets"),
        ('PYTHONPATH = "{contract}"', 'PYTHONPATH = "{contrat}"', "{contrat} in"),
        ("{lanes}", "{", "Single '{'"),
        ("[language]", "[idiom]", "no table [language]"),
    ],
)
def test_a_file_that_is_not_right_is_refused_with_the_place(home: Path, old: str, new: str, message: str) -> None:
    file = home / "toolchains" / "toy.toml"
    file.write_text(TOY.replace(old, new))

    with pytest.raises(ToolchainError, match=r"toy\.toml") as refused:
        load(file)

    assert message in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    "need", ['{ command = "no-such-cc", install = "sh sdk.run" }', '{ package = "no-such", install = "sh sdk.run" }']
)
def test_what_is_missing_is_named_with_the_command_that_installs_it(kb, home: Path, need: str) -> None:
    file = home / "toolchains" / "toy.toml"
    file.write_text(TOY.replace('{ package = "numpy", install = "pip install numpy" }', need))

    with pytest.raises(JudgeError, match="which this machine lacks") as refused:
        verdict(kb, RIGHT)

    assert refused.value.hint == "install: sh sdk.run"
    assert kb.toolchains.state("toy").ready is False


def test_a_compiler_that_does_not_exist_is_an_error_of_the_toolchain(kb, home: Path) -> None:
    file = home / "toolchains" / "toy.toml"
    file.write_text(TOY.replace('\nrun = "', '\nbuild = "no-such-cc {candidate}"\nrun = "'))

    evidence = verdict(kb, RIGHT)

    assert evidence.outcome is Outcome.COMPILE_ERROR


def test_the_homes_own_file_replaces_the_shipped_one_of_the_same_name(kb, home: Path) -> None:
    shipped = sorted(SHIPPED.glob("*.toml"))[0]
    text = shipped.read_text().replace('title = "', 'title = "Mine: ')
    (home / "toolchains" / shipped.name).write_text(text)
    shutil.copy(SHIPPED / load(shipped).example, home / "toolchains")

    assert kb.toolchains.get(shipped.stem).title.startswith("Mine: ")


def test_an_unknown_toolchain_is_refused_with_the_nearest_name(kb) -> None:
    with pytest.raises(KbError, match="no toolchain") as refused:
        kb.toolchains.get("toi")

    assert "did you mean toy" in refused.value.hint


@pytest.mark.parametrize("file", sorted(SHIPPED.glob("*.toml")), ids=lambda file: file.stem)
def test_each_shipped_toolchain_is_whole(file: Path) -> None:
    toolchain = load(file)

    assert (file.parent / toolchain.example).is_file()
    assert (file.parent / toolchain.task).is_file()
    assert all(need.install for need in toolchain.needs)
    assert "{contract}" not in toolchain.language.rules
