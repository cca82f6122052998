"""The lineage of targets: which documents may speak for which chip."""

import re
import tempfile
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.errors import TargetError
from kb.settings import Settings
from kb.targets import ROOT, Targets
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import CORPUS, HashEmbedder, needs_corpus

SHIPPED = Targets.load(Path("/nowhere"))
PARENTS = {t.name: t.parent for t in SHIPPED}


def ancestors(name: str) -> list[str]:
    """Worked out from the parents alone, to compare with."""
    parent = PARENTS[name]
    return [parent, *ancestors(parent)] if parent else []


def write(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "targets.toml").write_text(text, encoding="utf-8")


def test_every_name_and_alias_belongs_to_one_target_however_it_is_spelled() -> None:
    owners = {re.sub(r"\W|_", "", s).lower(): t for t in SHIPPED for s in (t.name, *t.aliases)}
    spellings = [(s, t) for t in SHIPPED for s in (t.name, *t.aliases)]

    assert [s for s, t in spellings if owners[re.sub(r"\W|_", "", s).lower()] is not t] == []
    assert [s for s, t in spellings if SHIPPED.find(s.upper()) is not t] == []


def test_every_lineage_ends_at_any() -> None:
    for name in PARENTS:
        lineage = SHIPPED.lineage(name)

        assert lineage == (name, *ancestors(name))
        assert lineage[-1] == ROOT


def test_a_scope_is_the_target_with_its_ancestors_and_descendants_and_no_sibling() -> None:
    for one, other in product(PARENTS, repeat=2):
        related = one == other or other in ancestors(one) or one in ancestors(other)

        assert (other in SHIPPED.scope(one)) == related, (one, other)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("MI300X", "mi300x"), ("MI-300X", "mi300x"), ("mi 300 x", "mi300x"), ("gfx940", "gfx942"), ("sm_90a", "hopper")],
)
def test_a_name_is_known_in_every_spelling(spelling: str, name: str) -> None:
    assert SHIPPED.get(spelling).name == name


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("manuals/mi300x", "mi300x"),
        ("tenstorrent/tt-isa-documentation/WormholeB0/TensixTile", "wormhole"),
        ("tenstorrent/tt-metal", "tenstorrent"),
        ("mi300x/llvm/AMDGPU", "mi300x"),
        ("mi300x/mi355x", "mi300x"),
        ("amd/mi300x", "mi300x"),
        ("amd/cdna3/gfx942/mi300x/mi325x", "mi300x"),
        ("any/mi300x", "mi300x"),
        ("docs/isa", None),
        ("any", None),
        ("", None),
    ],
)
def test_the_first_known_folder_decides_and_deeper_ones_only_make_it_more_specific(
    path: str, target: str | None
) -> None:
    assert SHIPPED.of_path(path.split("/")) == target


@pytest.mark.parametrize(
    ("wrong", "near"), [("mi350xx", "mi350x"), ("trainum2", "trainium2"), ("hoper", "hopper"), ("tpu-v5", "tpu-v5e")]
)
def test_an_unknown_target_is_answered_with_near_names(wrong: str, near: str) -> None:
    with pytest.raises(TargetError, match=wrong) as caught:
        SHIPPED.get(wrong)

    assert near in caught.value.hint


def test_a_target_that_resembles_none_is_answered_with_how_to_add_it() -> None:
    with pytest.raises(TargetError) as caught:
        SHIPPED.get("zzzzqqqq")

    assert "did you mean" not in caught.value.hint
    assert "kb targets add zzzzqqqq" in caught.value.hint


NAMES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,8}qq[0-9]", fullmatch=True)
ALIASES = st.lists(st.text(max_size=6).map(lambda s: f"zz{s}"), max_size=3)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(name=NAMES, parent=st.sampled_from(sorted(PARENTS)), aliases=ALIASES)
def test_a_saved_target_is_loaded_as_it_was(name: str, parent: str, aliases: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        added = Targets.load(home).with_new(name, parent=parent, aliases=aliases)
        target = added.get(name)
        added.save()

        assert Targets.load(home).get(name) == target


def test_saving_one_target_keeps_those_saved_before(home: Path) -> None:
    for name, parent in (("chip-a", "any"), ("chip-b", "chip-a")):
        Targets.load(home).with_new(name, parent=parent).save()

    assert Targets.load(home).lineage("chip-b") == ("chip-b", "chip-a", "any")


def test_saving_a_target_keeps_the_comments_and_the_form_of_what_the_user_wrote(home: Path) -> None:
    own = '# ours\nchip-a = { parent = "amd" }  # of 2027\n\n# not out yet\n["chip.b"]\naliases   = [ "b1",\n]\n'
    write(home, own)

    Targets.load(home).with_new("chip-c", parent="chip.b", aliases=["c1"]).save()

    assert (home / "targets.toml").read_text(encoding="utf-8").startswith(own)
    assert Targets.load(home).lineage("c1") == ("chip-c", "chip.b", "any")


@pytest.mark.parametrize(
    ("name", "parent", "aliases"),
    [
        ("mi300x", "any", ()),
        ("MI-300X", "any", ()),
        ("gfx940", "any", ()),
        ("chip", "no-such-parent", ()),
        ("???", "any", ()),
        ("", "any", ()),
        ("chip", "any", ("MI300X",)),
        ("chip", "any", ("???",)),
        ("chip", "any", ("",)),
    ],
)
def test_a_new_target_needs_a_free_well_formed_name_a_known_parent_and_such_aliases(
    name: str, parent: str, aliases: tuple[str, ...]
) -> None:
    with pytest.raises(TargetError) as caught:
        SHIPPED.with_new(name, parent=parent, aliases=aliases)

    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "chip = ",
        "[chip]\n[chip]",
        'chip = "amd"',
        "chip = 3",
        '[chip]\nname = "other"',
        '[chip]\nfather = "amd"',
        '[chip]\nparent = "no-such-parent"',
        '["Chip X"]\nparent = "amd"',
        '[chip]\naliases = "mi300x"',
        '[chip]\naliases = ["mi300x"]',
        '[chip]\nparent = "chip"',
        '[chip]\nparent = "chop"\n[chop]\nparent = "chip"',
        '[any]\nparent = "amd"',
    ],
)
def test_a_malformed_list_of_targets_is_refused_with_a_hint(home: Path, text: str) -> None:
    write(home, text)

    with pytest.raises(TargetError) as caught:
        Targets.load(home)

    assert caught.value.hint


def test_a_list_of_targets_that_is_no_text_is_refused(home: Path) -> None:
    home.mkdir()
    (home / "targets.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(TargetError, match=r"targets\.toml"):
        Targets.load(home)


def test_two_sessions_that_add_the_same_target_leave_a_list_that_can_be_read(home: Path) -> None:
    def opened() -> KnowledgeBase:
        return KnowledgeBase(Settings.load(home), embedder=HashEmbedder())

    with opened() as one, opened() as other:
        one.target_tree.add("chip", parent="amd")
        with suppress(TargetError):
            other.target_tree.add("chip", parent="amd")

    assert Targets.load(home).get("chip").parent == "amd"


@needs_corpus
@pytest.mark.parametrize("folder", sorted(p.name for p in CORPUS.glob("*/")))
def test_every_folder_of_the_corpus_names_a_target(folder: str) -> None:
    assert SHIPPED.of_path([folder]) is not None
