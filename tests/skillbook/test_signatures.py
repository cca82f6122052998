"""Evidence that a trusted key signed counts as measured; any other claim does not."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kb.errors import SkillError
from kb.skillbook.library import ALLOWED_SIGNERS, Skillbook
from tests.skillbook.conftest import TODAY, measured
from tests.skillbook.evidence import evidence, skill

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is not installed")
WIN = evidence(speedup=1.5)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return new_key(tmp_path / "key")


def new_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def trust(home: Path, key: Path, name: str = "ann@example.org") -> None:
    home.mkdir(exist_ok=True)
    public = key.with_name(f"{key.name}.pub").read_text()
    (home / ALLOWED_SIGNERS).write_text(f'{name} namespaces="kb-evidence" {public}')


@pytest.fixture
def theirs(tmp_path: Path, key: Path) -> Skillbook:
    """A library with a win that its home's key signed."""
    other = tmp_path / "theirs"
    book = Skillbook(other, shipped=other / "none", today=lambda: TODAY, key=key)
    measured(book, skill(evidence=(WIN,)))
    return book


def pull(book: Skillbook, theirs: Skillbook) -> None:
    """What git would do."""
    shutil.copytree(theirs.folder, book.folder, dirs_exist_ok=True)


def test_evidence_that_a_trusted_key_signed_counts(book: Skillbook, theirs: Skillbook, key: Path) -> None:
    pull(book, theirs)
    assert book.standing(book.get("softmax")) == "hypothesis", "nobody is trusted yet"

    trust(book.home, key)

    found = book.get("softmax")
    assert book.standing(found) == "verified"
    assert book.measurer()(found, WIN) == "ann@example.org"
    assert theirs.measurer()(found, WIN) == "here"


def test_a_signature_by_another_key_or_of_other_evidence_does_not_count(
    book: Skillbook, theirs: Skillbook, tmp_path: Path, key: Path
) -> None:
    pull(book, theirs)
    trust(book.home, new_key(tmp_path / "other"))
    assert book.standing(book.get("softmax")) == "hypothesis"

    trust(book.home, key)
    forged = evidence(speedup=9.0)
    book.publish(skill(evidence=(forged,), signatures={forged.id: book.get("softmax").signatures[WIN.id]}))

    assert book.get("softmax").best == forged
    assert book.measured(book.get("softmax")).best == WIN
    assert book.search("softmax")[0].best == WIN


def test_a_home_signs_only_what_it_measured(tmp_path: Path, key: Path) -> None:
    book = Skillbook(tmp_path / "home", shipped=tmp_path / "none", key=key)

    assert book.publish(skill(evidence=(WIN,))).signatures == {}
    book.attest(WIN)
    assert set(book.publish(skill(evidence=(WIN,))).signatures) == {WIN.id}


@pytest.mark.parametrize("content", ["", "BEGIN\nnonsense"])
def test_what_is_no_signature_counts_for_nothing(book: Skillbook, key: Path, content: str) -> None:
    trust(book.home, key)
    book.publish(skill(evidence=(WIN,), signatures={WIN.id: content}))

    assert book.standing(book.get("softmax")) == "hypothesis"


def test_a_key_that_cannot_sign_is_an_error_with_a_hint(tmp_path: Path) -> None:
    book = Skillbook(tmp_path / "home", shipped=tmp_path / "none", key=tmp_path / "missing")
    book.attest(WIN)

    with pytest.raises(SkillError, match="cannot be signed") as error:
        book.publish(skill(evidence=(WIN,)))

    assert "KB_SIGNING_KEY" in error.value.hint
