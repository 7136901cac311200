"""The settings of the server; `flags.py` is the table of all flags and variables."""

from sandbox_agent.settings.flags import (
    SETTINGS,
    Setting,
    Settings,
    SettingsError,
    default_agents_file,
    default_data_directory,
)

__all__ = [
    "SETTINGS",
    "Setting",
    "Settings",
    "SettingsError",
    "default_agents_file",
    "default_data_directory",
]
