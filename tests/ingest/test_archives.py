"""Archives are read as folders, and nothing in them can do harm."""

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from ingest import archives
from ingest.scan import scan
from kb.usecases.knowledge_base import KnowledgeBase
from tests.ingest.knowledge import found

MEMBERS = {
    "top.md": "# Top\n\nThe quibble.\n",
    "deep/er/low.rst": "Low\n===\n\n.. include:: part.txt\n",
    "deep/er/part.txt": "The included zebra.\n",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(archives, "cache_dir", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def pack(archive: Path, members: dict[str, str]) -> Path:
    archive.parent.mkdir(parents=True, exist_ok=True)
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w") as opened:
            for name, text in members.items():
                opened.writestr(name, text)
    else:
        with tarfile.open(archive, "w:gz") as opened:
            for name, text in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(text.encode())
                opened.addfile(info, io.BytesIO(text.encode()))
    return archive


def skipped(archive: Path) -> dict[str, str]:
    return {f.place.relative_to(archive).as_posix(): f.skip for f in scan(archive, hidden=False) if f.skip}


@pytest.mark.parametrize("name", ["newchip.zip", "newchip.tar.gz", "newchip.tgz"])
def test_an_archive_is_read_as_a_folder_and_its_members_are_cited(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    archive = pack(tmp_path / "docs" / name, MEMBERS)

    report = kb.ingest([archive])

    assert [t.name for t in report.new_targets] == ["newchip"]
    assert [d.path for d in kb.documents.stored("newchip")] == [f"{name}/{m}" for m in sorted(MEMBERS)]
    assert "included zebra" in found(kb, "zebra", "newchip")
    [citation] = [h.passage.citation for h in kb.search("quibble", target="newchip").hits if "quib" in h.passage.text]
    place = kb.cite(citation.id)
    assert (place.file, place.file_exists, place.file_same) == (f"{archive}/top.md", True, True)
    assert kb.documents.outline("top.md").file == f"{archive}/top.md"


def test_an_archive_in_a_folder_belongs_to_the_folder(kb: KnowledgeBase, tmp_path: Path) -> None:
    pack(tmp_path / "newchip" / "manual.zip", MEMBERS)

    kb.ingest([tmp_path / "newchip"])

    assert "newchip/manual.zip/deep/er/low.rst" in [d.path for d in kb.documents.stored("newchip")]


def test_an_unchanged_archive_is_not_opened_again(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pack(tmp_path / "newchip.zip", MEMBERS)
    kb.ingest([archive])
    monkeypatch.setattr(archives, "_unpack", lambda *arguments: pytest.fail("it was unpacked again"))

    assert {f.outcome for f in kb.ingest([archive]).files} == {"unchanged"}


def test_of_a_changed_archive_only_changed_members_are_read_again(kb: KnowledgeBase, tmp_path: Path) -> None:
    archive = pack(tmp_path / "newchip.zip", MEMBERS)
    kb.ingest([archive])
    pack(archive, MEMBERS | {"top.md": "# Top\n\nThe longer quibble.\n", "new.md": "# New\n"})
    (archive.parent / "newchip.zip").touch()

    outcomes = {f.path.rpartition("/")[2]: f.outcome for f in kb.ingest([archive]).files}

    assert {k: outcomes[k] for k in ("top.md", "new.md", "part.txt")} == {
        "top.md": "changed",
        "new.md": "new",
        "part.txt": "unchanged",
    }


def test_documents_of_an_archive_that_is_gone_are_removed(kb: KnowledgeBase, tmp_path: Path) -> None:
    archive = pack(tmp_path / "newchip" / "a.zip", MEMBERS)
    (archive.parent / "b.md").write_text("# B\n", encoding="utf-8")
    kb.ingest([archive.parent])
    archive.unlink()

    report = kb.ingest([archive.parent])

    assert (report.count("removed"), report.count("unchanged")) == (3, 1)


def test_an_archive_is_unpacked_in_its_home_and_messages_name_the_archive(
    kb: KnowledgeBase, tmp_path: Path, cache: Path
) -> None:
    archive = pack(tmp_path / "newchip.zip", {"a.md": "# A\n", "b.md": "\0" * 99})

    [failed] = [file for file in kb.ingest([archive]).files if file.outcome == "failed"]

    assert failed.reason.startswith(f"{archive}/b.md is not text")
    assert not cache.exists()
    assert [file.name for file in (kb.settings.home / "cache").rglob("a.md")] == ["a.md"]


def test_without_its_cache_a_member_is_still_cited_and_not_read_again(kb: KnowledgeBase, tmp_path: Path) -> None:
    archive = pack(tmp_path / "newchip.zip", {"top.md": MEMBERS["top.md"]})
    kb.ingest([archive])
    archives.shutil.rmtree(kb.settings.home / "cache")

    assert kb.documents.outline("top.md").file_same
    assert {f.outcome for f in kb.ingest([archive]).files} == {"unchanged"}


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz"])
@pytest.mark.parametrize("member", ["../out.md", "/out.md", "deep/../../out.md", "..\\out.md"])
def test_a_member_that_leads_out_of_the_archive_is_refused(tmp_path: Path, name: str, member: str) -> None:
    archive = pack(tmp_path / "chip" / name, {member: "# Out\n", "in.md": "# In\n"})

    assert set(skipped(archive).values()) == {"not unpacked: its path points outside the archive"}
    assert [p.name for p in tmp_path.rglob("*.md")] == ["in.md"]


def test_links_in_archives_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n", encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as zipped:
        info = zipfile.ZipInfo("link.md")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        zipped.writestr(info, str(tmp_path / "secret.md"))
    with tarfile.open(tmp_path / "x.tgz", "w:gz") as tarred:
        for kind, name in ((tarfile.SYMTYPE, "link.md"), (tarfile.LNKTYPE, "hard.md"), (tarfile.FIFOTYPE, "pipe.md")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, str(tmp_path / "secret.md")
            tarred.addfile(member)

    assert skipped(tmp_path / "x.zip") == {"link.md": "not unpacked: it is a link"}
    assert {name: "link" in why for name, why in skipped(tmp_path / "x.tgz").items()} == {
        "link.md": True,
        "hard.md": True,
        "pipe.md": False,
    }


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    archive = pack(tmp_path / "x.zip", {"a.md": "# A\n"})
    content = bytearray(archive.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + flags] |= 1
    archive.write_bytes(content)

    assert skipped(archive) == {"a.md": "not unpacked: it is encrypted"}


def test_an_archive_in_an_archive_is_not_unpacked(tmp_path: Path) -> None:
    inner = pack(tmp_path / "inner.zip", MEMBERS)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as opened:
        opened.write(inner, "inner.zip")

    assert skipped(tmp_path / "x.zip") == {"inner.zip": "an archive in an archive"}


def test_a_member_whose_name_cannot_be_is_refused(tmp_path: Path) -> None:
    archive = pack(tmp_path / "x.zip", {"a": "file", "a/b.md": "# B\n", f"{'n' * 300}.md": "# N\n", "c.md": "# C\n"})

    assert {f.path.name for f in scan(archive, hidden=False) if not f.skip} == {"c.md"}


@pytest.mark.parametrize(("limit", "most", "said"), [("MOST_MEMBERS", 2, "2 files"), ("MOST_BYTES", 20, "20 bytes")])
@pytest.mark.parametrize("name", ["newchip.zip", "newchip.tar.gz"])
def test_an_archive_that_is_too_large_fails_alone(
    kb: KnowledgeBase,
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    limit: str,
    most: int,
    said: str,
) -> None:
    pack(tmp_path / "newchip" / name, MEMBERS)
    (tmp_path / "newchip" / "b.md").write_text("# B\n", encoding="utf-8")
    monkeypatch.setattr(archives, limit, most)

    report = kb.ingest([tmp_path / "newchip"])

    assert {f.outcome for f in report.files} == {"new", "failed"}
    assert [said in f.reason for f in report.files if f.outcome == "failed"] == [True]
    assert list(cache.rglob("*.*")) == []


def test_a_header_of_any_length_is_not_read_into_memory(kb: KnowledgeBase, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "newchip.tgz", "w:gz", format=tarfile.PAX_FORMAT) as opened:
        info = tarfile.TarInfo("a.md")
        info.pax_headers = {"comment": "x" * (3 << 20)}
        opened.addfile(info)

    [report] = kb.ingest([tmp_path / "newchip.tgz"]).files

    assert (report.outcome, "3,14" in report.reason) == ("failed", True)


@pytest.mark.parametrize("name", ["newchip.zip", "newchip.tar.gz"])
def test_a_damaged_archive_keeps_its_earlier_documents(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    archive = pack(tmp_path / "docs" / name, MEMBERS)
    kb.ingest([archive])
    archive.write_bytes(archive.read_bytes()[:60])

    for path in (archive, archive.parent):
        report = kb.ingest([path])
        assert [f.outcome for f in report.files] == ["failed"]
    assert len(kb.documents.stored("newchip")) == 3


def test_a_member_keeps_the_day_of_its_last_change(kb: KnowledgeBase, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "newchip.zip", "w") as opened:
        opened.writestr(zipfile.ZipInfo("a.md", (2020, 2, 3, 12, 0, 0)), "# A\n")

    kb.ingest([tmp_path / "newchip.zip"])

    assert kb.documents.get("a.md").changed_on == "2020-02-03"
