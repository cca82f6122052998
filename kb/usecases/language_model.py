"""The language model that the user's settings name."""

from kb.errors import SettingsError
from synth.authors.anthropic import AnthropicModel
from synth.authors.chat import ChatModel


def chat_model(name: str) -> ChatModel:
    """The language model with this name. Raises SettingsError for an empty name."""
    if not name:
        hint = "set KB_ANTHROPIC_MODEL, or anthropic_model in kb.toml of the home"
        raise SettingsError("the settings name no model", hint=hint)
    return AnthropicModel(name)
