"""The settings of a home, each with where its value comes from."""

import os

from kb.settings import Settings
from kb.types.base import Frozen


class SettingView(Frozen):
    name: str
    value: str
    origin: str
    """The variable of the environment or the file that sets it; `default` if none does."""
    about: str


def settings_view(settings: Settings) -> list[SettingView]:
    return [_setting(settings, name) for name in Settings.model_fields]


def _setting(settings: Settings, name: str) -> SettingView:
    value, variable = getattr(settings, name), f"KB_{name.upper()}"
    file = "kb.toml" if name in settings.model_fields_set and name != "home" else "default"
    return SettingView(
        name=name,
        value=", ".join(map(str, value)) if isinstance(value, tuple) else str(value),
        origin=variable if variable in os.environ else file,
        about=" ".join((Settings.model_fields[name].description or "").split()),
    )
