"""The digest of the dictionary in a file of weights: with another dictionary the classes mean other characters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from mindspore import Parameter, Tensor

from hccl_kit.base.errors import KitError

NAME = "hccl_kit.dictionary"


def mark(digest: str) -> list[Parameter]:
    """The row to save with the weights of a network with this dictionary; empty for an empty digest."""
    return [Parameter(Tensor(np.frombuffer(bytes.fromhex(digest), np.uint8)), name=NAME)] if digest else []


def assert_same(path: Path, rows: Mapping[str, Parameter], digest: str) -> None:
    """Raises KitError if the weights in `path` were trained with another dictionary; older files have no digest."""
    if digest and NAME in rows and rows[NAME].asnumpy().tobytes().hex() != digest:
        raise KitError(
            f"{path} was trained with another dictionary than this configuration has",
            hint="set postprocess.character_dict_path and use_space_char as in its train_config.yaml",
        )
