"""The language model that the user's settings name, and what it does for a question."""

from kb.errors import SettingsError
from kb.usecases.home import Home
from synth.authors.anthropic import AnthropicModel
from synth.authors.chat import ChatModel
from synth.phrasings import ask_for_phrasings


def chat_model(name: str) -> ChatModel:
    """The language model with this name. Raises SettingsError for an empty name."""
    if not name:
        hint = "set KB_ANTHROPIC_MODEL, or anthropic_model in kb.toml of the home"
        raise SettingsError("the settings name no model", hint=hint)
    return AnthropicModel(name)


def phrasings(home: Home, question: str, *, target: str | None) -> list[str]:
    """Other phrasings of a question. Errors as in `KnowledgeBase.phrasings`."""
    return ask_for_phrasings(chat_model(home.settings.anthropic_model), question, target=target)
