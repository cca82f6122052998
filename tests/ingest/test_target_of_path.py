"""Where files belong: the target that their folders name, and the path that citations show."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.scan import ScannedFile, scan
from ingest.target_of_path import Layout, is_ordinary
from kb.errors import TargetError
from kb.settings import Settings
from kb.targets import Targets
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder
from tests.ingest.documents import PROPERTY

SHIPPED = Targets.load(Path("/nowhere"))


def laid_out(root: Path, *files: str, ingested: str) -> dict[str, tuple[str, ...]]:
    """The lineage of each file's target without `any`, as the ingest of one folder gives it."""
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("# Text\n", encoding="utf-8")
    found = [f for f in scan(root / ingested, hidden=False) if not f.skip]
    layout = Layout(SHIPPED, found)
    targets = {f.place.relative_to(root).as_posix(): layout.target_of(f, before=None) for f in found}
    return {path: layout.targets.lineage(target)[:-1] for path, target in targets.items()}


@pytest.mark.parametrize(
    ("ingested", "files"),
    [
        ("two/docs", {"two/docs/chipa/a.md": ("chipa",), "two/docs/chipb/b.md": ("chipb",)}),
        ("two", {"two/docs/chipa/a.md": ("chipa", "two"), "two/docs/chipb/b.md": ("chipb", "two")}),
        ("docs", {"docs/vendor/chip1/a.md": ("chip1", "vendor"), "docs/vendor/chip2/b.md": ("chip2", "vendor")}),
        ("docs/vendor", {"docs/vendor/chip1/a.md": ("chip1", "vendor"), "docs/vendor/chip2/b.md": ("chip2", "vendor")}),
        ("docs/vendor/chip1", {"docs/vendor/chip1/a.md": ("chip1",)}),
        (
            "docs",
            {"docs/chip/isa/a.md": ("chip",), "docs/chip/guide/b.md": ("chip",), "docs/chip/v1.2/c.md": ("chip",)},
        ),
        ("docs/chip", {"docs/chip/isa/a.md": ("chip",), "docs/chip/user-guide/b.md": ("chip",)}),
        ("chip", {"chip/index.md": ("chip",), "chip/foo/a.md": ("chip",), "chip/bar/b.md": ("chip",)}),
        ("chip/docs", {"chip/docs/index.md": ("chip",), "chip/docs/foo/a.md": ("chip",)}),
        ("chip/docs/html", {"chip/docs/html/a.html": ("chip",)}),
        ("docs/chip/isa/add.md", {"docs/chip/isa/add.md": ("chip",)}),
        ("docs", {"docs/README.md": None, "docs/chipa/a.md": ("chipa",), "docs/chipb/b.md": ("chipb",)}),
        ("docs", {"docs/vendor/gen2/chip1/en/a.md": ("chip1", "gen2", "vendor")}),
        ("docs", {"docs/mi300x/llvm/AMDGPU/a.md": ("mi300x", "gfx942", "cdna3", "cdna", "amd")}),
        ("docs/mi300x/llvm/AMDGPU", {"docs/mi300x/llvm/AMDGPU/a.md": ("mi300x", "gfx942", "cdna3", "cdna", "amd")}),
        ("docs", {"docs/tenstorrent/tt-metal/a.md": ("tenstorrent",)}),
        ("docs", {"docs/tenstorrent/tt-isa/WormholeB0/a.md": ("wormhole", "tenstorrent")}),
        ("docs/v100", {"docs/v100/a.md": ("v100",)}),
        ("qx7-a2", {"qx7-a2/some-blog/2025/banks_of_2/a.md": ("qx7-a2",), "qx7-a2/qx-sdk/en/b.md": ("qx7-a2",)}),
        ("qx7", {"qx7/falcon/2025/a.md": ("qx7",)}),
        ("qx7", {"qx7/falcon/a.md": ("falcon", "qx7"), "qx7/hawk/b.md": ("hawk", "qx7")}),
        ("qx7", {"qx7/qx-dl/a.md": ("qx-dl", "qx7"), "qx7/hawk/b.md": ("hawk", "qx7")}),
        ("qx7", {"qx7/qx-mini/a.md": ("qx-mini", "qx7"), "qx7/qx-plus/b.md": ("qx-plus", "qx7")}),
        ("qxa", {"qxa/qxa/a.md": ("qxa",), "qxa/lyra/b.md": ("lyra", "qxa")}),
        ("qx7", {"qx7/qx7-a2/a.md": ("qx7-a2", "qx7"), "qx7/qx7-b1/b.md": ("qx7-b1", "qx7")}),
        ("q-xa", {"q-xa/qxa/a.md": ("q-xa",), "q-xa/qxa-sim/b.md": ("q-xa",), "q-xa/qx2/c.md": ("qx2", "q-xa")}),
        ("qxa", {"qxa/qxa-nano/a.md": ("qxa-nano", "qxa"), "qxa/qxa-pro/b.md": ("qxa-pro", "qxa")}),
        (
            "manuals2025",
            {"manuals2025/nova/a.md": ("nova", "manuals2025"), "manuals2025/lyra/b.md": ("lyra", "manuals2025")},
        ),
        ("all", {"all/a.md": ("all",), "all/apple/m1/b.md": ("m1", "apple"), "all/nvdla/c.md": ("nvdla",)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_innermost_folder_that_names_something_is_the_chip(
    tmp_path: Path, ingested: str, files: dict[str, tuple[str, ...] | None]
) -> None:
    found = laid_out(tmp_path, *files, ingested=ingested)

    assert {path: lineage for path, lineage in found.items() if files[path]} == {p: t for p, t in files.items() if t}


NAMES = st.from_regex(r"[a-z]{2}q[0-9]{1,3}", fullmatch=True)
ORDINARY = st.sampled_from(["docs", "manuals", "en", "isa", "user-guide", "v1.2", "2024-03", "00_hardware"])


@PROPERTY
@given(
    chips=st.lists(NAMES, min_size=2, max_size=4, unique=True),
    above=st.lists(ORDINARY, max_size=2),
    below=st.lists(ORDINARY, max_size=3),
)
def test_two_chips_in_ordinary_folders_never_share_a_target(
    tmp_path_factory: pytest.TempPathFactory, chips: list[str], above: list[str], below: list[str]
) -> None:
    files = {"/".join(("docs", *above, chip, *below, "a.md")): (chip,) for chip in chips}

    assert laid_out(tmp_path_factory.mktemp("layout"), *files, ingested="docs") == files


FOLDERS = st.lists(st.sampled_from(["docs", "isa", "qx1", "qx2", "qx3", "apple", "m1", "nvdla"]), max_size=4)


@PROPERTY
@given(folders=st.lists(FOLDERS, min_size=1, max_size=6), order=st.randoms())
def test_the_order_of_files_and_an_earlier_ingest_change_no_target(
    tmp_path_factory: pytest.TempPathFactory, folders: list[list[str]], order: random.Random
) -> None:
    root = tmp_path_factory.mktemp("layout") / "top"
    files = [ScannedFile(p, root, p, root) for p in {root.joinpath(*names, "a.md") for names in folders}]
    shuffled = order.sample(files, len(files))
    one, other = Layout(SHIPPED, files), Layout(SHIPPED, shuffled)

    first = {f.place: one.target_of(f, before=None) for f in files}

    assert {f.place: other.target_of(f, before=None) for f in shuffled} == first
    again = Layout(one.targets, files)
    assert {f.place: again.target_of(f, before=None) for f in files} == first
    assert again.new == []


@pytest.mark.parametrize(
    "name", ["docs", "Manuals", "v1.2", "1.0.0", "2024-03", "00_hardware", "GettingStarted", "???"]
)
def test_words_of_documents_versions_and_dates_name_nothing(name: str) -> None:
    assert is_ordinary(name)


@pytest.mark.parametrize("name", ["mi300x", "V100", "k230", "chip", "WormholeB0", "tpu", "k230-docs"])
def test_any_other_word_names_something(name: str) -> None:
    assert not is_ordinary(name)


def test_a_folder_that_names_no_chip_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)

    with pytest.raises(TargetError, match="names a chip") as refused:
        laid_out(tmp_path, "docs/a.md", ingested="docs")

    assert "--target" in refused.value.hint


def test_folders_that_may_be_further_chips_in_that_of_a_chip_are_reported(kb: KnowledgeBase, tmp_path: Path) -> None:
    for name in ("qx-sdk/tools", "qx-dsp"):
        (tmp_path / "qx7-a2" / name).mkdir(parents=True)
        (tmp_path / "qx7-a2" / name / "a.md").write_text("# Text\n", encoding="utf-8")

    report = kb.ingest([tmp_path / "qx7-a2"])

    assert [new.name for new in report.new_targets] == ["qx7-a2"]
    assert {Path(s.folder).name for s in report.shared} == {"qx-sdk", "qx-dsp"}


def test_a_folder_in_a_family_that_ships_with_kb_is_reported(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "amd" / "mi500x"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("# Text\n", encoding="utf-8")

    report = kb.ingest([tmp_path / "docs"])

    assert [(s.folder, s.target, s.parent) for s in report.shared] == [(str(folder), "amd", "amd")]


def test_a_folder_that_may_be_a_chip_inside_a_new_manual_is_reported_once(kb: KnowledgeBase, tmp_path: Path) -> None:
    for name in ("vendor/README.md", "vendor/qx1/a.md", "vendor/qx1/deep/b.md", "vendor/isa/c.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# Text\n", encoding="utf-8")

    report = kb.ingest([tmp_path / "vendor"])

    assert {f.target for f in report.files} == {"vendor"}
    assert [(s.folder, s.target, s.parent) for s in report.shared] == [(str(tmp_path / "vendor/qx1"), "vendor", "any")]
    assert kb.ingest([tmp_path / "vendor"]).shared == ()


def test_a_chip_found_later_joins_its_family(kb: KnowledgeBase, tmp_path: Path) -> None:
    for chip in ("chip1", "chip2"):
        (tmp_path / "vendor" / chip).mkdir(parents=True)
        (tmp_path / "vendor" / chip / "a.md").write_text("# Text\n", encoding="utf-8")
        kb.ingest([tmp_path / "vendor"])

    assert kb.targets.lineage("chip1") == ("chip1", "vendor", "any")
    assert kb.targets.lineage("chip2") == ("chip2", "vendor", "any")


@pytest.mark.parametrize("target", ["newchip", "mi300x"])
def test_a_citation_does_not_depend_on_which_folder_was_ingested(tmp_path: Path, target: str) -> None:
    file = tmp_path / "docs" / target / "isa" / "add.md"
    file.parent.mkdir(parents=True)
    file.write_text("# Add\n\nAdds two quibbles.\n", encoding="utf-8")
    cited = set()
    for number, path in enumerate((tmp_path / "docs", file.parents[1], file.parent, file)):
        home = Settings.load(tmp_path / f"home{number}")
        with KnowledgeBase(home, embedder=HashEmbedder()) as kb:
            kb.ingest([path])
            [hit] = [h for h in kb.search("quibbles", target=target).hits if "quibbles" in h.passage.text]
            cited.add((hit.passage.citation.path, hit.passage.citation.id))

    assert {path for path, _ in cited} == {f"{target}/isa/add.md"}
    assert len(cited) == 1
