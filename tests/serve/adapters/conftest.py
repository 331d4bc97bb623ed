"""Libraries that report their own use are told not to before any test imports one."""

from __future__ import annotations

from estante.shelf.settings import quieten

quieten()
