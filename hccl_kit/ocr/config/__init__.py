"""A training configuration: YAML with MindOCR's sections and keys, checked against its schema before it is used.

No heavy imports: a wrong key is an error before MindSpore loads. Defaults are in the schema only.
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

BEST = layers.BEST
ARCHIVE = "train_config.yaml"
"""The complete configuration of a run, in its folder."""
TEXTS = "texts.txt"
"""The labels from which the language model of a run learns, in the folder of the run."""
EVALUATION = ("postprocess", "metric", "eval")
DECODING = ("DecodeImage", "Decode")
"""The transforms that read an image; the last gives RGB, the other BGR by default."""
UPSIDE_DOWN = "180"
"""The class of a line that lies upside down, in the label_list of a classification."""


@dataclass(frozen=True, slots=True)
class Config:
    """A complete configuration: `values` with all defaults, and the file it came from. Immutable."""

    values: Mapping[str, Any]
    source: str
    folder_place: str = ""
    """Where train.ckpt_save_dir is set: `file:line` or `-o ...`; empty if unknown."""

    def __getitem__(self, section: str) -> Any:
        """The section of that name. Raises KitError if the file has none."""
        if section not in self.values:
            raise KitError(
                "ocr.config.no-section",
                "{source} has no section {section}",
                fix="an evaluation, a prediction and an export need it",
                source=self.source,
                section=section,
            )
        return self.values[section]

    def __contains__(self, section: object) -> bool:
        """Whether there is such a section: a file for training alone has none for evaluation."""
        return section in self.values

    def transforms(self, section: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Names and options of the transform_pipeline of `train` or `eval`."""
        rows = self[section]["dataset"]["transform_pipeline"]
        return [(name, options or {}) for row in rows for name, options in row.items()]

    @property
    def weights(self) -> Path:
        """The weights for evaluation, prediction and export: `eval.ckpt_load_path`.

        If it is null: best.ckpt of the training of this configuration, in `ckpt_save_dir`; of the archive of a run,
        that next to it, even if its folder was moved. Other weights are never taken instead.
        """
        wanted = self["eval"]["ckpt_load_path"]
        if wanted is not None:
            return Path(wanted)
        source = Path(self.source)
        if source.name == ARCHIVE and not self.folder_place.startswith(layers.OVERRIDE):
            return source.with_name(BEST)
        return Path(self["train"]["ckpt_save_dir"], BEST)

    @property
    def training_set(self) -> Mapping[str, Any]:
        """`train.dataset` without the part that `train.validation` keeps back."""
        return self._parts_of_training()[0]

    def on_validation(self) -> Config:
        """The configuration that evaluates the part of `train.dataset` that `train.validation` keeps back."""
        return self.evaluating(self._parts_of_training()[1])

    def evaluating(self, dataset: Mapping[str, Any]) -> Config:
        """The configuration that evaluates another data set, with the transforms of this one."""
        pipeline = self["eval"]["dataset"]["transform_pipeline"]
        section = {**self["eval"], "dataset": {**dataset, "transform_pipeline": pipeline}}
        return replace(self, values={**self.values, "eval": section})

    def _parts_of_training(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """`train.dataset` in two parts without a common page: to train and to validate."""
        dataset, share = self["train"]["dataset"], self["train"]["validation"]
        first, last = dataset.get("split") or (0.0, 1.0)
        middle = last - (last - first) * share
        if not share:
            return dataset, {}
        return {**dataset, "split": [first, middle]}, {**dataset, "split": [middle, last]}

    @property
    def shares_folder_with(self) -> str | None:
        """The file that this one extends, if train.ckpt_save_dir is set there: both train into one folder."""
        file = self.folder_place.rpartition(":")[0]
        is_own = not file or self.folder_place.startswith(layers.OVERRIDE) or file == self.source
        return None if is_own else file

    @property
    def kept_texts(self) -> Path:
        """The file with the texts of the language model of a run, next to its archived configuration."""
        return Path(self.source).with_name(TEXTS)

    def of_run(self) -> Config:
        """The configuration that a training archives: `eval` uses its own weights, even if the folder is moved."""
        if "eval" not in self:
            return self
        return replace(self, values={**self.values, "eval": {**self["eval"], "ckpt_load_path": None}})

    @property
    def digest(self) -> str:
        """SHA-256 of the values, independent of their order and source: ranks compare it."""
        return hashlib.sha256(json.dumps(self.values, sort_keys=True).encode()).hexdigest()

    def to_yaml(self) -> str:
        """The whole configuration as YAML: it starts the same job again."""
        return yaml_text.dump(self.values)


def options_of(part: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a backbone, neck, head, loss or postprocess: all keys but its name and the source of weights."""
    return {key: value for key, value in part.items() if key not in ("name", "pretrained")}


def load(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read a file and those it extends by `__base__`, and apply `a.b=c` overrides.

    Raises KitError that lists every mistake with its file and line, or its override.
    """
    parts = layers.read(path)
    for override in overrides:
        parts.override(override)
    parts.settle()
    schema.check(parts.values, parts.places, str(path))
    schema.fill(parts.values)
    if parts.values["model"]["type"] == "det":
        _assert_evaluation(parts.values, str(path))
        _assert_validation(parts.values, str(path))
        _read_images(parts.values)
    return Config(parts.values, str(path), parts.places.get(layers.FOLDER, ""))


def _assert_evaluation(values: Mapping[str, Any], source: str) -> None:
    """Raises KitError if only some sections of an evaluation are there, or if a training that evaluates lacks one.

    Detectors may be trained without evaluation: MindOCR's files for SynthText have no sections for it.
    """
    absent = [section for section in EVALUATION if section not in values]
    if absent and (values["system"]["val_while_train"] or len(absent) < len(EVALUATION)):
        raise KitError(
            "ocr.config.missing",
            "{source}: {absent} {verb} missing",
            fix="system.val_while_train: False, without {evaluation}, trains without an evaluation",
            source=source,
            absent=", ".join(absent),
            verb="is" if len(absent) == 1 else "are",
            evaluation=", ".join(EVALUATION),
        )


def _assert_validation(values: Mapping[str, Any], source: str) -> None:
    """Raises KitError if a part of the training data is kept for evaluations, and there is no section eval."""
    if values["train"]["validation"] and "eval" not in values:
        raise KitError(
            "ocr.config.validation-needs-eval",
            "{source}: train.validation is {share}, but there is no section eval, so nothing chooses weights",
            fix="train.validation: 0, or the sections {evaluation}",
            source=source,
            share=values["train"]["validation"],
            evaluation=", ".join(EVALUATION),
        )


def _read_images(values: Mapping[str, Any]) -> None:
    """Add Decode to pipelines of pages that do not read images, as in some of MindOCR's files."""
    for section in ("train", "eval"):
        steps = values.get(section, {}).get("dataset", {}).get("transform_pipeline", [])
        if steps and not any(name in DECODING for step in steps for name in step):
            steps.insert(0, {DECODING[-1]: None})
