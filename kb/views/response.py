"""What all answers share: notes for the reader, and parts that can be left out to fit a number of tokens."""

from bisect import bisect_right
from typing import Any, ClassVar, Self, TypeVar

from pydantic import SerializerFunctionWrapHandler, model_serializer

from kb.types.base import Frozen, tokens_of

LABEL_CHARACTERS = 300
STATED_CHARACTERS = 600
NAMES_SHOWN = 30
"""Most names of parts that were left out."""


def _brief(schema: dict[str, Any]) -> None:
    """Leave out of a schema what only the sender needs: hosts show it to agents, who pay for each token."""
    schema.pop("additionalProperties", None)
    for part in (schema, *schema.get("properties", {}).values()):
        part.pop("title", None)
        part.pop("default", None)


class Item(Frozen):
    """A part of an answer, without its empty fields in JSON, if they may be empty: agents pay for each token."""

    @model_serializer(mode="wrap")
    def _without_empty(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {
            name: value for name, value in fields(self).items() if value or type(self).model_fields[name].is_required()
        }


class Response(Frozen, json_schema_extra=_brief):
    """An answer. `truncated` is true if something was left out to save tokens; `notes` then say how to get it."""

    truncated: bool = False
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> int:
        """Number of parts that can be left out, from the last one on."""
        return 0

    def first(self, n: int) -> Self:
        """The first `n` parts alone."""
        return self

    def noted(self, *notes: str) -> Self:
        return self.with_(notes=(*self.notes, *notes)) if notes else self

    def with_(self, **changes: Any) -> Self:  # noqa: ANN401 - the fields of the subclass
        return self.model_copy(update=changes)


R = TypeVar("R", bound=Response)
V = TypeVar("V", bound=Frozen)


class Listing(Response):
    """A list whose last items can be left out; `left_out` has the first of their names."""

    of: ClassVar[str]
    """The field of the list."""
    named: ClassVar[str] = "id"
    """The field of an item by which `left_out` names it."""
    left_out: tuple[str, ...] = ()

    @property
    def parts(self) -> int:
        return len(getattr(self, self.of))

    def first(self, n: int) -> Self:
        items = getattr(self, self.of)
        names = dict.fromkeys(getattr(item, self.named) for item in items[n:])
        return self.with_(**{self.of: items[:n]}, left_out=(*names,)[:NAMES_SHOWN], truncated=True)


class LongText(Response):
    """A text that can be read in parts; `offset` is where this part begins, in characters."""

    text: str
    offset: int = 0
    next_offset: int | None = None
    """The offset of the next part; None if this is the last."""

    @property
    def parts(self) -> int:
        return len(self.text)

    def first(self, n: int) -> Self:
        return self.with_(text=self.text[:n], next_offset=self.offset + n, truncated=True)


def view_of(view: type[V], source: object, /, **own: Any) -> V:  # noqa: ANN401 - the fields of the view
    """A view with its `own` fields, and those that `source`, its citation or its plan has under the same names."""
    for name in view.model_fields.keys() - own.keys():
        for holder in (source, getattr(source, "citation", None), getattr(source, "plan", None)):
            if hasattr(holder, name):
                own[name] = getattr(holder, name)
                break
    return view(**own)


def json_tokens(response: Response) -> int:
    return tokens_of(response.model_dump_json())


def fitted(whole: R, max_tokens: int, note: str) -> R:
    """`whole`, or as many of its first parts as fit, with a `note` on how to get the rest.

    Size must not fall as parts are added. If no part fits, the rest may exceed `max_tokens`.
    """

    def cut(n: int) -> R:
        return whole.first(n).noted(note)

    complete = whole.noted(note) if whole.truncated else whole
    if json_tokens(complete) <= max_tokens:
        return complete
    fitting = bisect_right(range(whole.parts), max_tokens, key=lambda n: json_tokens(cut(n)))
    return cut(max(0, fitting - 1))
