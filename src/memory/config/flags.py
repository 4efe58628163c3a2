"""What stands between `memory` and the name of a command, and the settings that follow from it."""

from __future__ import annotations

import os
from typing import NamedTuple

from memory.config.config import Config, load, located


class Flags(NamedTuple):
    """What stands between `memory` and the name of a command; None for what does not."""

    home: str | None = None
    config: str | None = None
    store: str | None = None
    user: str | None = None

    @property
    def settings(self) -> dict[str, str | None]:
        """As settings, which win over those of the file and of the environment."""
        return {"home": self.home, "store.url": self.store, "user": self.user}

    @property
    def file(self) -> str:
        """The settings file, which says where the database is. It may not exist yet."""
        return located(self.config, env=os.environ, flags=self.settings)

    def load(self, **more: object) -> Config:
        """The settings in force, with some more."""
        return load(self.config, flags=self.settings | more)
