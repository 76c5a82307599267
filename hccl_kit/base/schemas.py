"""The published JSON Schemas: in `schemas/` of the installed package or of a source tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hccl_kit.base.errors import KitError


def load(stem: str) -> Mapping[str, Any]:
    """The schema `stem`, such as "rank_table_1.0". Raises KitError if it is not installed."""
    name = f"{stem}.schema.json"
    package = Path(__file__).parents[1]
    for folder in (package / "schemas", package.parent / "schemas"):
        if (folder / name).is_file():
            schema: Mapping[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
            return schema
    raise KitError(f"the schema {name} is missing from this installation", hint="reinstall hccl-kit")
