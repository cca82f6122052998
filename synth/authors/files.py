"""A person or an agent who reads each prompt in a file and answers in another."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from synth.authors.author import Ask, Author, AuthorError, Outcome, Reply

LOOK_S = 0.5
"""Time between two looks for an answer."""


@dataclass
class FilesAuthor(Author):
    """Writes `001-prompt.md` and waits for `001-answer.md` beside it, for as long as it takes.

    An answer that is there already is taken. It must appear whole: write it under another name, and rename it.
    """

    folder: Path
    sleep: Callable[[float], None] = time.sleep

    name = "files"
    secrets = ()

    def answer(self, ask: Ask) -> Reply:
        prompt, answer = (self.folder / f"{ask.number:03}-{what}.md" for what in ("prompt", "answer"))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            whole = prompt.with_suffix(".new")
            whole.write_text(ask.text, encoding="utf-8")
            whole.replace(prompt)
            while not answer.exists():
                self.sleep(LOOK_S)
            text = answer.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise AuthorError(f"cannot use {self.folder}: {error}", Outcome.INVALID) from error
        return Reply(text=text, usage=ask.counted(text))
