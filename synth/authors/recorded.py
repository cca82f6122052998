"""Answers from files, for demos and tests. Nobody is asked; the name says so in journals and reports."""

from dataclasses import dataclass
from pathlib import Path

from synth.authors.author import Ask, Author, AuthorError, Outcome, Reply


@dataclass
class RecordedAuthor(Author):
    """Answers the nth request with the nth file of a folder, by name."""

    folder: Path

    secrets = ()

    @property
    def name(self) -> str:
        return f"recorded:{self.folder.name}"

    def answer(self, ask: Ask) -> Reply:
        try:
            files = sorted(file for file in self.folder.iterdir() if file.is_file() and not file.name.startswith("."))
            text = files[ask.number - 1].read_text(encoding="utf-8")
        except IndexError:
            told = f"{self.folder} holds {len(files)} answers, all of which are given"
            raise AuthorError(told, Outcome.INVALID) from None
        except (OSError, UnicodeDecodeError) as error:
            raise AuthorError(f"cannot read {self.folder}: {error}", Outcome.INVALID) from error
        return Reply(text=text, usage=ask.counted(text))
