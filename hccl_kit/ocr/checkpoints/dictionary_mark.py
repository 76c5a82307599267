"""The dictionary in a file of weights: with another one the classes mean other characters."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from mindspore import Parameter, Tensor

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints.checkpoint import DamagedError

NAME, CHARACTERS = "hccl_kit.dictionary", "hccl_kit.characters"


def mark(digest: str, characters: str = "") -> list[Parameter]:
    """The rows to save with the weights of a network with this dictionary; none for an empty digest.

    `characters` are those of a recogniser, and `digest` is then their SHA-256.
    """
    rows = {NAME: bytes.fromhex(digest), CHARACTERS: characters.encode()}
    return [Parameter(Tensor(np.frombuffer(row, np.uint8)), name=name) for name, row in rows.items() if row]


def differs(rows: Mapping[str, Parameter], digest: str) -> bool:
    """Whether the weights were trained with another dictionary; older files have no digest."""
    return bool(digest) and NAME in rows and rows[NAME].asnumpy().tobytes().hex() != digest


def characters(path: Path, rows: Mapping[str, Parameter]) -> str | None:
    """The characters of the dictionary, each once; None if the file does not hold them, as older files do not.

    Raises DamagedError if they are not a dictionary, or not that of the digest.
    """
    if CHARACTERS not in rows:
        return None
    row = rows[CHARACTERS].asnumpy()
    data = row.tobytes()
    try:
        text = data.decode() if row.dtype == np.uint8 else ""
    except UnicodeDecodeError:
        text = ""
    if not text or len(set(text)) != len(text) or differs(rows, hashlib.sha256(data).hexdigest()):
        raise DamagedError(f"{path} is damaged: its dictionary is not one, or not that of its digest")
    return text


def other(path: Path) -> KitError:
    """The error for weights in `path` that were trained with another dictionary, which the file does not have."""
    return KitError(
        "ocr.dictionary-mark.was-trained-another",
        "{path} was trained with another dictionary than this configuration has",
        fix="set postprocess.character_dict_path and use_space_char as in its train_config.yaml",
        path=path,
    )
