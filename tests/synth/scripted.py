"""A model that answers from a script, and remembers what it was asked."""

from typing import NamedTuple

from synth.authors.chat import ChatAnswer, ChatModel, ModelError


class Asked(NamedTuple):
    rules: str
    said: tuple[str, ...]
    stable: str


class ScriptedModel(ChatModel):
    """Gives the next reply of the script to each question, for 10 tokens each; the last one is repeated."""

    def __init__(self, *script: str | ModelError) -> None:
        self.script = list(script)
        self.asked: list[Asked] = []

    def answer(self, rules: str, *said: str, stable: str = "") -> ChatAnswer:
        self.asked.append(Asked(rules, said, stable))
        reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(reply, ModelError):
            reply.usage = {"output_tokens": 10}
            raise reply
        return ChatAnswer(text=reply, usage={"output_tokens": 10})
