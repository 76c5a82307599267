"""Packages that are slow to import, and that few tests use: every worker collects all tests."""

from __future__ import annotations

from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

import pytest
from packaging.version import Version


class OnUse:
    """A module that is imported when the first of its attributes is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest looks for marks of fixtures while it collects
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


def on_use(name: str, minversion: str = "0") -> Any:
    """The module `name`; without its package, or with an older one, the tests of the calling module are skipped."""
    package = name.partition(".")[0]
    if find_spec(package) is None or Version(metadata.version(package)) < Version(minversion):
        pytest.skip(f"needs {package} {minversion}", allow_module_level=True)
    return OnUse(name)
