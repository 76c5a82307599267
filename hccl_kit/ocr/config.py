"""A training configuration: YAML in MindOCR's sections and keys, checked against its schema before it is used.

Nothing heavy is imported here, so a wrong key is refused before MindSpore loads. Defaults stand in the schema alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hccl_kit.ocr import config_parts, config_schema, config_text

BEST = "best.ckpt"
"""The best weights of a run, in its folder."""
UPSIDE_DOWN = "180"
"""The class of such a line, in the label_list of a classification."""


@dataclass(frozen=True, slots=True)
class Config:
    """A whole configuration: `values` with all defaults filled in, and the file it came from. Never changed."""

    values: Mapping[str, Any]
    source: str

    def __getitem__(self, section: str) -> Any:
        """The section of that name."""
        return self.values[section]

    @property
    def weights(self) -> Path:
        """What eval.py, predict.py and export.py load: `eval.ckpt_load_path`.

        Where it is null: best.ckpt beside the configuration file, as in the folder of a run, or in `ckpt_save_dir`.
        """
        wanted = self.values["eval"]["ckpt_load_path"]
        beside = Path(self.source).with_name(BEST)
        if wanted is not None:
            return Path(wanted)
        return beside if beside.exists() else Path(self.values["train"]["ckpt_save_dir"], BEST)

    def of_run(self) -> Config:
        """What a training is told and archives: its own weights are those of `eval`, wherever its folder is moved."""
        return replace(self, values={**self.values, "eval": {**self.values["eval"], "ckpt_load_path": None}})

    @property
    def digest(self) -> str:
        """SHA-256 of the values, whatever their order and wherever they came from: ranks compare it."""
        return hashlib.sha256(json.dumps(self.values, sort_keys=True).encode()).hexdigest()

    def to_yaml(self) -> str:
        """The text that starts the same job again, in one file."""
        return config_text.dump(self.values)


def load(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read the file with those it builds on by `__base__`, and apply `a.b=c` overrides.

    KitError names every mistake with its file and line, or with its override.
    """
    parts = config_parts.read(path)
    for override in overrides:
        parts.override(override)
    parts.settle()
    config_schema.check(parts.values, parts.places, str(path))
    config_schema.fill(parts.values)
    return Config(parts.values, str(path))


def ineffective(config: Config) -> list[str]:
    """What is to be said once: the keys of MindOCR in this configuration that do nothing here, and why."""
    return config_schema.ineffective(config.values)
