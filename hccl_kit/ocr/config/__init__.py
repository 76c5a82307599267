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

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import layers, schema, yaml_text

BEST = "best.ckpt"
"""The best weights of a run, in its folder."""
EVALUATION = ("postprocess", "metric", "eval")
DECODING = ("DecodeImage", "Decode")
"""The transforms that read an image; the last gives RGB, the other BGR by default."""
UPSIDE_DOWN = "180"
"""The class of a line that lies upside down, in the label_list of a classification."""


@dataclass(frozen=True, slots=True)
class Config:
    """A whole configuration: `values` with all defaults filled in, and the file it came from. Never changed."""

    values: Mapping[str, Any]
    source: str

    def __getitem__(self, section: str) -> Any:
        """The section of that name; KitError where the file leaves it out."""
        if section not in self.values:
            raise KitError(
                f"{self.source} has no section {section}", hint="an evaluation, a prediction and an export need it"
            )
        return self.values[section]

    def __contains__(self, section: object) -> bool:
        """Whether there is such a section: files that are for training alone have none to evaluate."""
        return section in self.values

    def transforms(self, section: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Names and options of the transform_pipeline of `train` or `eval`."""
        rows = self[section]["dataset"]["transform_pipeline"]
        return [(name, options or {}) for row in rows for name, options in row.items()]

    @property
    def weights(self) -> Path:
        """What eval.py, predict.py and export.py load: `eval.ckpt_load_path`.

        Where it is null: best.ckpt beside the configuration file, as in the folder of a run, or in `ckpt_save_dir`.
        """
        wanted = self["eval"]["ckpt_load_path"]
        beside = Path(self.source).with_name(BEST)
        if wanted is not None:
            return Path(wanted)
        return beside if beside.exists() else Path(self.values["train"]["ckpt_save_dir"], BEST)

    def of_run(self) -> Config:
        """What a training is told and archives: its own weights are those of `eval`, wherever its folder is moved."""
        if "eval" not in self:
            return self
        return replace(self, values={**self.values, "eval": {**self["eval"], "ckpt_load_path": None}})

    @property
    def digest(self) -> str:
        """SHA-256 of the values, whatever their order and wherever they came from: ranks compare it."""
        return hashlib.sha256(json.dumps(self.values, sort_keys=True).encode()).hexdigest()

    def to_yaml(self) -> str:
        """The text that starts the same job again, in one file."""
        return yaml_text.dump(self.values)


def options_of(part: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a backbone, neck, head, loss or postprocess: all keys but its name and the source of weights."""
    return {key: value for key, value in part.items() if key not in ("name", "pretrained")}


def load(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read the file with those it builds on by `__base__`, and apply `a.b=c` overrides.

    KitError names every mistake with its file and line, or with its override.
    """
    parts = layers.read(path)
    for override in overrides:
        parts.override(override)
    parts.settle()
    schema.check(parts.values, parts.places, str(path))
    schema.fill(parts.values)
    if parts.values["model"]["type"] == "det":
        _assert_evaluation(parts.values, str(path))
        _read_images(parts.values)
    return Config(parts.values, str(path))


def _assert_evaluation(values: Mapping[str, Any], source: str) -> None:
    """Detectors may be trained without: MindOCR's files for SynthText have no section for it."""
    absent = [section for section in EVALUATION if section not in values]
    if absent and (values["system"]["val_while_train"] or len(absent) < len(EVALUATION)):
        raise KitError(
            f"{source}: {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} missing",
            hint=f"system.val_while_train: False, without {', '.join(EVALUATION)}, trains without an evaluation",
        )


def _read_images(values: Mapping[str, Any]) -> None:
    """Put Decode before pipelines of pages that have no step of the kind, as in some of MindOCR's files."""
    for section in ("train", "eval"):
        steps = values.get(section, {}).get("dataset", {}).get("transform_pipeline", [])
        if steps and not any(name in DECODING for step in steps for name in step):
            steps.insert(0, {DECODING[-1]: None})


def ineffective(config: Config) -> list[str]:
    """What is to be said once: the keys of MindOCR in this configuration that do nothing here, and why."""
    return schema.ineffective(config.values)
