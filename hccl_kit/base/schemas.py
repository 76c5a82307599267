"""The published JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hccl_kit.base import shipped
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message


def load(stem: str) -> Mapping[str, Any]:
    """The schema `stem`, such as "rank_table_1.0". Raises KitError if this installation lacks it."""
    name = f"{stem}.schema.json"
    folder = shipped.folder("schemas")
    if folder is not None and (folder / name).is_file():
        schema: Mapping[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
        return schema
    message = Message("base.no-schema", "the schema {name} is missing from this installation", name=name)
    raise KitError(message, hint=Message("base.no-schema.fix", "install hccl-kit again"))
