"""A directory is a complete, unaltered skill or is refused with every problem; kb writes only valid Agent Skills."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import skills_ref
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from eval.languages.registry import LANGUAGES
from kb.errors import SkillError
from kb.skillbook.files import MAX_FILE_BYTES, load_skill, parse_skill, skill_files
from kb.skillbook.library import SHIPPED, Skillbook
from kb.types.evidence import CaseResult, Outcome
from kb.types.kernels import Candidate
from kb.types.skill import Preconditions, Skill, SkillKind, SkillRecord
from tests.skillbook.conftest import write_files
from tests.skillbook.evidence import evidence, skill

Files = dict[str, bytes]

ACCEPTED = SkillRecord(
    verb="accept", skill="softmax", content_digest=skill().content_digest, created="2025-11-21", by="ann"
)
WHOLE = skill(
    evidence=tuple(sorted((evidence(), evidence(speedup=1.5)), key=lambda one: one.id)), records=(ACCEPTED,)
)  # in the order of the files
MD = "SKILL.md"
CODE = "scripts/kernel.py"
RECORD = next(path for path, content in skill_files(WHOLE).items() if b'"grade": "compiled"' in content)
DECISION = next(path for path in skill_files(WHOLE) if path.startswith("records/"))


def without(path: str) -> Callable[[Files], Files]:
    return lambda files: {p: content for p, content in files.items() if p != path}


def holding(path: str, content: bytes) -> Callable[[Files], Files]:
    return lambda files: files | {path: content}


def replaced(path: str, old: str, new: str) -> Callable[[Files], Files]:
    def change(files: Files) -> Files:
        assert old.encode() in files[path]
        return files | {path: files[path].replace(old.encode(), new.encode(), 1)}

    return change


def renamed(path: str, new: str) -> Callable[[Files], Files]:
    return lambda files: {new if p == path else p: content for p, content in files.items()}


MALFORMED = {
    "no SKILL.md": (without(MD), "SKILL.md: it is missing"),
    "an empty SKILL.md": (holding(MD, b""), "no front matter"),
    "no front matter": (holding(MD, b"# Softmax\n"), "no front matter"),
    "front matter that does not end": (replaced(MD, "\n---\n", "\n"), "no front matter"),
    "endless front matter": (replaced(MD, "name:", "#" * 30_000 + "\nname:"), "no front matter"),
    "front matter that is a list": (holding(MD, b"---\n- name\n---\n"), "valid dictionary"),
    "invalid YAML": (replaced(MD, "name: ", "name: ["), "SKILL.md: while parsing"),
    "an invalid character": (replaced(MD, "name: softmax", 'name: "\\UFFFFFFFF"'), "SKILL.md: "),
    "endless nesting": (replaced(MD, "name: softmax", "name: " + "[" * 5000), "recursion"),
    "SKILL.md in Latin-1": (holding(MD, skill_files(WHOLE)[MD] + b"\xe9\n"), "utf-8"),
    "a kernel in Latin-1": (holding(CODE, b"# \xe9\n"), "utf-8"),
    "no name": (replaced(MD, "name: softmax\n", ""), "name Field required"),
    "the name of another directory": (replaced(MD, "name: softmax", "name: softmin"), "'softmin' is not"),
    "a name with capitals": (replaced(MD, "name: softmax", "name: Softmax"), "name String should match"),
    "a long name": (replaced(MD, "name: softmax", f"name: {'x' * 65}"), "at most 64"),
    "no description": (replaced(MD, "description: ", "license: "), "description Field required"),
    "a blank description": (replaced(MD, "description: Softmax", "description: ''\nlicense: x"), "description"),
    "a long description": (replaced(MD, "Softmax over", "over " * 300), "at most 1024"),
    "a description that other readers would cut": (replaced(MD, "Softmax over", "Softmax --- over"), "inside a line"),
    "no metadata": (holding(MD, b"---\nname: softmax\ndescription: d\n---\n"), "metadata Field required"),
    "metadata that is text": (replaced(MD, "metadata:", "metadata: x\nlicense:\n  - x\ncompatibility:"), "metadata"),
    "metadata that holds a list": (replaced(MD, "kb-schema:", "other: [1]\n  kb-schema:"), "metadata.other"),
    "no kb-schema": (replaced(MD, "kb-schema:", "schema:"), "metadata.kb-schema Field required"),
    "another kb-schema": (replaced(MD, "kb-schema: '1'", "kb-schema: '2'"), "metadata.kb-schema"),
    "no kb-target": (replaced(MD, "kb-target:", "target:"), "metadata.kb-target Field required"),
    "an alias as target": (replaced(MD, "kb-target: mi300x", "kb-target: MI-300X"), "metadata.kb-target"),
    "no kb-language": (replaced(MD, "kb-language:", "language:"), "does not name its kb-language"),
    "a kind that kb does not have": (replaced(MD, "kb-kind: kernel", "kb-kind: recipe"), "metadata.kb-kind"),
    "an unknown language": (
        replaced(MD, "kb-language: triton", "kb-language: Fortran 77"),
        "metadata.kb-language String should match",
    ),
    "no kb-code-digest": (replaced(MD, "kb-code-digest:", "digest:"), "kb-code-digest is not the kernel's"),
    "no kernel": (without(CODE), "scripts/kernel.*: it is missing"),
    "two kernels": (holding("scripts/kernel.cpp", b"// c"), "it is not the only kernel"),
    "an altered kernel": (replaced(CODE, "1024", "2048"), "accept it with `sed -i 's/kb-code-digest:"),
    "a kernel with other line endings": (replaced(CODE, "\n", "\r\n"), "kb-code-digest is not the kernel's"),
    "an endless kernel": (holding(CODE, b" " * (MAX_FILE_BYTES + 1)), "more than"),
    "evidence that is not JSON": (holding(RECORD, b"{"), f"{RECORD}: Invalid JSON"),
    "evidence that is something else": (holding(RECORD, b"{}"), f"{RECORD}: task Field required"),
    "altered evidence": (replaced(RECORD, "Test Machine", "Best Machine"), f"{RECORD}: altered"),
    "evidence under another id": (renamed(RECORD, f"{RECORD[:-10]}00000.json"), "altered or renamed"),
    "evidence of a refusal with a time": (
        replaced(RECORD, '"grade": "compiled"', '"grade": null'),
        "does not fit",
    ),
    "an altered decision": (replaced(DECISION, "ann", "bob"), f"{DECISION}: altered"),
    "a decision that does not exist": (replaced(DECISION, '"accept"', '"adore"'), f"{DECISION}: verb"),
    "a kernel of no kind": (replaced(MD, "kb-kind: kernel", "kb-kind: ''"), "metadata.kb-kind"),
    "a code digest without code": (
        lambda files: without(CODE)(replaced(MD, "kb-kind: kernel", "kb-kind: pitfall")(files)),
        "scripts/kernel.*: it is missing",
    ),
    "evidence with half a sandbox level": (
        replaced(RECORD, '"sandbox_level": 2', '"sandbox_level": 2.5'),
        "sandbox_level",
    ),
}


@pytest.mark.parametrize(("change", "complaint"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_skill_is_refused(tmp_path: Path, change: Callable[[Files], Files], complaint: str) -> None:
    write_files(tmp_path / "softmax", change(skill_files(WHOLE)))

    with pytest.raises(SkillError) as refusal:
        load_skill(tmp_path / "softmax")

    assert complaint in refusal.value.message
    assert str(tmp_path / "softmax") in refusal.value.message
    assert refusal.value.hint


def test_the_skill_behind_the_malformed_ones_is_valid(tmp_path: Path) -> None:
    write_files(tmp_path / "softmax", skill_files(WHOLE))

    assert load_skill(tmp_path / "softmax") == WHOLE.model_copy(update={"folder": tmp_path / "softmax"})


def test_one_error_lists_every_problem() -> None:
    files = skill_files(WHOLE)
    for path, old, new in [(MD, "name:", "nom:"), (MD, "kb-target:", "target:"), (RECORD, "2.11", "2.12")]:
        files = replaced(path, old, new)(files)

    with pytest.raises(SkillError) as refusal:
        parse_skill(Path("softmax"), files)

    for complaint in ("name Field required", "kb-target Field required", "altered"):
        assert complaint in refusal.value.message


def test_fields_that_kb_does_not_know_are_left_alone() -> None:
    files = replaced(MD, "metadata:", "version: 1\nallowed_tools: x\nmetadata:\n  kb-mood: high")(skill_files(WHOLE))

    assert parse_skill(Path("softmax"), files) == WHOLE.model_copy(update={"folder": Path("softmax")})


def test_a_decision_on_other_content_does_not_count() -> None:
    files = replaced(MD, "One program", "Two programs")(skill_files(WHOLE))

    assert (parse_skill(Path("softmax"), files).records, len(WHOLE.records)) == ((), 1)


def test_a_missing_directory_is_a_skill_error(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match=r"SKILL\.md: it is missing"):
        load_skill(tmp_path / "softmax")


def test_yaml_merge_keys_are_not_expanded() -> None:
    levels = [f"a{n}: &a{n} {{ <<: [{', '.join([f'*a{n - 1}'] * 9)}] }}" for n in range(1, 12)]
    bomb = "\n".join(["---", "a0: &a0 { k: v }", *levels, "---", ""])

    with pytest.raises(SkillError, match="name Field required"):
        parse_skill(Path("softmax"), {MD: bomb.encode()})


NAMES = st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True).filter(lambda name: len(name) <= 64)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=200)
FLOATS = st.floats(allow_nan=False)
CANDIDATES = st.builds(Candidate, language=st.sampled_from([language.name for language in LANGUAGES]), source=TEXTS)


WORDS = st.lists(st.from_regex(r"\S+", fullmatch=True).filter(lambda word: len(word.split()) == 1), max_size=3).map(
    tuple
)
PRECONDITIONS = st.builds(Preconditions, ops=WORDS, dtypes=WORDS)


def records_of(written: Skill) -> st.SearchStrategy[list[SkillRecord]]:
    verbs = st.sampled_from(["accept", "reject", "retire"])
    about = {"skill": st.just(written.name), "content_digest": st.just(written.content_digest)}
    record = st.builds(SkillRecord, verb=verbs, created=TEXTS, by=TEXTS, reason=TEXTS, **about)
    return st.lists(record, max_size=2, unique_by=lambda record: record.id)


@st.composite
def skills(draw: st.DrawFn) -> Skill:
    candidate = draw(CANDIDATES)
    judged = st.builds(
        lambda speedup, error, **fields: evidence(
            candidate,
            speedup=speedup,
            cases=(CaseResult(name="c", outcome=Outcome.PASSED, max_error=error),),
            **fields,
        ),
        speedup=st.none() | st.floats(0.01, 1e9),
        error=FLOATS,
        task=NAMES,
        target=NAMES,
        log=TEXTS,
        created=TEXTS,
        environment=st.dictionaries(TEXTS, TEXTS, max_size=3),
    )
    found = draw(st.lists(judged, max_size=2, unique_by=lambda e: e.id))
    kind = draw(st.sampled_from(SkillKind))
    held = candidate if kind is SkillKind.KERNEL or draw(st.booleans()) else None
    language = {} if held else {"language": draw(st.none() | st.just(candidate.language))}
    written = skill(
        draw(NAMES),
        kind=kind,
        description=draw(TEXTS.filter(str.strip)),
        body=draw(TEXTS),
        target=draw(st.from_regex(r"[a-z0-9][a-z0-9._-]*", fullmatch=True)),
        preconditions=draw(PRECONDITIONS),
        refusals=draw(WORDS),
        candidate=held,
        license=draw(TEXTS),
        compatibility=draw(TEXTS.filter(str.strip) | st.just("")),
        citations=draw(WORDS),
        evidence=tuple(sorted(found, key=lambda e: (e.created, e.id))),
        **language,
    )
    records = draw(records_of(written))
    return written.model_copy(update={"records": tuple(sorted(records, key=lambda r: (r.created, r.id)))})


@settings(max_examples=80, deadline=None)
@given(written=skills())
@example(written=skill(description="\x85 \u2028 \n\n \r b: #\t\0 'é' \U0001f600 "))
def test_a_written_skill_is_read_back_unchanged_and_valid_for_the_reference_reader(written: Skill) -> None:
    files = skill_files(written)
    assume(b"---" not in files[MD][4:].partition(b"\n---\n")[0])
    with TemporaryDirectory() as root:
        folder = Path(root) / written.name
        write_files(folder, files)

        assert load_skill(folder) == written.model_copy(update={"folder": folder})
        assert skills_ref.validate(folder) == []


PIECES = r"""name description metadata kb-schema kb-target kb-kind kb-ops kb-dtypes pitfall kernel
: - ? [ ] { } , & * ! !!int !!timestamp !!python/name:os
<< = | > ' " % %YAML # @ ` ~ null 1 1e9 0x 2001-99-99 \ \U --- ... é"""
YAML = st.sampled_from([*PIECES.split(), " ", "\n", ": ", "\n  ", "&a ", "*a", "\t", "\0", "\x85", "\ufeff"])
FRONT = st.lists(YAML, max_size=30).map("".join)


@settings(max_examples=100, deadline=None)
@given(front=FRONT, at=st.integers(0, 300))
@example(front='"\\U99999999"', at=10)
def test_any_front_matter_gives_a_skill_or_a_skill_error(front: str, at: int) -> None:
    parse_damaged(front, at)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(front=FRONT, at=st.integers(0, 300))
def test_ten_thousand_front_matters_give_a_skill_or_a_skill_error(front: str, at: int) -> None:
    parse_damaged(front, at)


def parse_damaged(front: str, at: int) -> None:
    """Parse a skill with this front matter, and one with it inside its own."""
    files = skill_files(WHOLE)
    text = files[MD].decode()
    for damaged in (f"---\n{front}\n---\n", text[:at] + front + text[at:]):
        try:
            parsed = parse_skill(Path("softmax"), files | {MD: damaged.encode()})
        except SkillError:
            continue
        assert parse_skill(Path("softmax"), skill_files(parsed)) == parsed.model_copy(
            update={"folder": Path("softmax")}
        )


@settings(max_examples=80, deadline=None)
@given(st.recursive(st.none() | st.booleans() | FLOATS | TEXTS, lambda v: st.lists(v) | st.dictionaries(TEXTS, v)))
def test_any_other_json_in_place_of_evidence_is_a_skill_error(value: object) -> None:
    with pytest.raises(SkillError, match="is not a skill"):
        parse_skill(Path("softmax"), skill_files(WHOLE) | {RECORD: json.dumps(value).encode()})


def test_a_body_that_contains_rules_and_front_matter_is_kept() -> None:
    written = skill(body="\n---\nname: other\n---\n\n---\n\n")

    assert parse_skill(Path("softmax"), skill_files(written)).body == written.body


def test_every_shipped_skill_is_complete_and_valid_for_the_reference_reader(home: Path) -> None:
    assert Skillbook(home).problems() == []
    folders = [found.folder for found in Skillbook(home).skills()]
    assert [problem for folder in folders for problem in skills_ref.validate(folder)] == []
    assert len(folders) == len(list(SHIPPED.glob("*/SKILL.md")))
