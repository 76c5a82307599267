"""The published JSON Schemas, which travel in the package and stand in `schemas/` of a source tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hccl_kit.base.errors import KitError


def load(stem: str) -> Mapping[str, Any]:
    """The schema `stem` ("rank_table_1.0"): from the installed package, or from beside it in a source tree."""
    name = f"{stem}.schema.json"
    package = Path(__file__).parents[1]
    for folder in (package / "schemas", package.parent / "schemas"):
        if (folder / name).is_file():
            schema: Mapping[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
            return schema
    raise KitError(f"the schema {name} is missing from this installation", hint="install hccl-kit again")
