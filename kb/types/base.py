"""The base class of all data types, the length of texts, and whose a server is."""

from ipaddress import ip_address
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

TOKEN_CHARACTERS = 4
"""Characters per token in every token budget. kb does not have the tokenizers of the models that budgets are for;
four is the usual rule for English technical text."""


def tokens_of(text: str) -> int:
    """Length of `text` in tokens, rounded up."""
    return -(-len(text) // TOKEN_CHARACTERS)


def short(text: str, characters: int) -> str:
    """`text`, cut to this length if it is longer."""
    return text if len(text) <= characters else f"{text[: characters - 4]} ..."


def reason_of(error: Exception) -> str:
    """What an error says: if fields of a model are wrong, the first of them and why."""
    if not isinstance(error, ValidationError):
        return str(error)
    wrong = error.errors()[0]
    return ": ".join(filter(None, (".".join(map(str, wrong["loc"])), wrong["msg"])))


def is_loopback(url: str) -> bool:
    """Whether a server runs on this machine. It is reached directly: a proxy would be another machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _untitled(schema: dict[str, Any]) -> None:
    """Leave out titles that only repeat names: agents pay for each token of a tool's schema."""
    for part in (schema, *schema.get("properties", {}).values()):
        part.pop("title", None)


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, json_schema_extra=_untitled)

    def __copy__(self) -> Self:
        """Without cached properties: `model_copy` may change what they follow from."""
        copied = super().__copy__()
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


class Recorded(Frozen, extra="allow"):
    """A part of a record on disk, which never changes: fields of other versions of kb stay, and so does its digest."""
