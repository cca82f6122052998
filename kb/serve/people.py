"""Who may use a served home. Of a token only the SHA-256 is kept: it is as random as a key, so nobody can guess it."""

import re
import secrets
from enum import StrEnum
from hmac import compare_digest
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from kb.catalog import storage_errors, write_lock
from kb.errors import SettingsError
from kb.storage import write_whole
from kb.types.base import Frozen
from kb.types.kernels import digest_of

TOKEN = re.compile(r"kb_[\w-]{43}")
NAME = re.compile(r"[A-Za-z0-9][\w.@-]{0,63}")


class Role(StrEnum):
    """Each may do what those before it may."""

    READER = "reader"
    """Reads everything that is not private."""
    AUTHOR = "author"
    """Also proposes, uploads, and has kernels judged."""
    CURATOR = "curator"
    """Also accepts, rejects and removes."""

    def may(self, least: "Role") -> bool:
        roles = list(Role)
        return roles.index(self) >= roles.index(least)


class Person(Frozen):
    role: Role
    sha256: str
    """Of the token, in hexadecimal digits."""


_PEOPLE = TypeAdapter(dict[str, Person])


class People:
    """The people of a home, by name. Each call reads their file, so a change holds at once."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = home / "people.json"

    def known(self) -> dict[str, Person]:
        """Raises SettingsError if the file is not right: then nobody is let in."""
        try:
            return _PEOPLE.validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            hint = "correct the file, or remove it and add the people again with `kb people add`"
            raise SettingsError(f"cannot read {self._file}", hint=hint) from error

    def add(self, name: str, role: Role) -> str:
        """A new token for a person, who may be known; an earlier token of his is void.

        Raises:
            SettingsError: this is no name.
            StoreError: the home cannot be written, or another process is writing it.
        """
        if not NAME.fullmatch(name):
            raise SettingsError(f"{name!r} is no name", hint="use up to 64 letters, digits and any of . _ @ -")
        token = f"kb_{secrets.token_urlsafe(32)}"
        with write_lock(self._home):
            self._write(self.known() | {name: Person(role=role, sha256=digest_of(token))})
        return token

    def remove(self, name: str) -> None:
        """Raises as `add`."""
        with write_lock(self._home):
            people = self.known()
            if people.pop(name, None) is None:
                raise SettingsError(f"nobody is called {name!r}", hint="`kb people list` shows all")
            self._write(people)

    def of(self, token: str) -> tuple[str, Role] | None:
        """The name and role of the person with this token. All tokens are compared, each in the same time."""
        digest, found = digest_of(token), None
        for name, person in self.known().items():
            if compare_digest(digest, person.sha256):
                found = name, person.role
        return found

    def _write(self, people: dict[str, Person]) -> None:
        with storage_errors(self._home):
            write_whole(self._file, _PEOPLE.dump_json(people, indent=2).decode() + "\n")
            self._file.chmod(0o600)
