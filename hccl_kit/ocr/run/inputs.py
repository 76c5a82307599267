"""What the command line of a training program names: its configuration, dictionaries, data sets and weights.

All of it is checked before anything heavy is loaded.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hccl_kit.base import progress, shipped
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import either
from hccl_kit.ocr import config as configuration
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.checkpoints import fetch
from hccl_kit.ocr.checkpoints.weights_file import WeightsFile
from hccl_kit.ocr.data.data_folder import expanded, guards
from hccl_kit.ocr.data.samples import are_there, sources

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config


def load(given: Path, overrides: Sequence[str]) -> Config:
    """The configuration in the file `given`, or in the shipped one of that name if there is no such file.

    An override `data=FOLDER` stands for several keys. Raises KitError if there is neither, or if it is not valid.
    """
    file = given if os.path.lexists(given) else shipped.config(given)
    if file is not None:
        return configuration.load(file, expanded(overrides, file))
    near = get_close_matches(given.as_posix().removeprefix("configs/"), shipped.config_names(), n=3)
    hint = (
        Message("ocr.program.cannot-read.fix", "did you mean {near}?", near=either(near))
        if near
        else Message("ocr.program.cannot-read.fix-otherwise", "--list-configs prints the names of the shipped ones")
    )
    raise KitError(
        "ocr.program.cannot-read",
        "cannot read {given}: it does not exist, and no shipped configuration has this name",
        hint=hint,
        given=given,
    )


def note_choices(given: Path, config: Config, *, training: bool = False) -> None:
    """Print the file that was taken if it is not the path `given`, and what its language model lacks.

    Before a training, also print that another configuration has the same folder.
    """
    if config.source != str(given):
        progress.say(f"config: {printable(config.source)} (shipped with hccl-kit)")
    if training and (other := config.shares_folder_with):
        folder = config["train"]["ckpt_save_dir"]
        progress.say(
            printable(
                f"train.ckpt_save_dir is that of {shipped.short_name(other)}: trainings of both write into {folder}. "
                "To keep them apart: -o train.ckpt_save_dir=..., or set it in the file"
            )
        )
    model = config.values.get("postprocess", {}).get("language_model")
    if model and not model["texts"] and not are_there(config["train"]["dataset"]) and not config.kept_texts.exists():
        progress.say(
            "postprocess.language_model is off: its training labels were not found. Give it a file of texts: "
            "-o postprocess.language_model.texts=FILE"
        )


def assert_files(config: Config, data: Sequence[str] = ()) -> None:
    """Raises KitError if the dictionary or a data set of the sections `data` cannot be read.

    Those of `eval.guard` belong to the section `eval`.
    """
    if "eval" in data:
        guards(config)
    post = config.values.get("postprocess", {})
    if "character_dict_path" in post:
        _assert_dictionary(post, "postprocess")
    for section in filter(config.__contains__, data):
        try:
            sources(config[section]["dataset"])
        except KitError as error:
            raise KitError(
                "ocr.program.dataset",
                "{section}.dataset: {reason}",
                hint=error.hint,
                section=section,
                reason=error.message,
            ) from error
        for number, step in enumerate(config[section]["dataset"]["transform_pipeline"]):
            for name, options in step.items():
                if name.endswith("LabelEncode") and (options or {}).get("character_dict_path"):
                    _assert_dictionary(options, f"{section}.dataset.transform_pipeline.{number}.{name}")


def _assert_dictionary(options: Mapping[str, Any], place: str) -> None:
    try:
        Charset.load(options["character_dict_path"], use_space_char=options.get("use_space_char", False))
    except KitError as error:
        hint = (
            error.hint or "it is relative to the current folder; MindOCR's are in mindocr/utils/dict of its repository"
        )
        raise KitError(
            "ocr.program.character-dict-path",
            "{place}.character_dict_path: {reason}",
            hint=hint,
            place=place,
            reason=error.message,
        ) from error


def weights_in_use(config: Config, option: str = "-o", *, speaks: bool = True) -> WeightsFile:
    """The file of the weights of `config`, which is named on standard error; `option` is the one that names another.

    Raises KitError if it is not a file.
    """
    path = fetch.local_path("eval.ckpt_load_path", str(config.weights), os.environ)
    if not path.is_file():
        name = shlex.quote(shipped.short_name(config.source))
        raise KitError(
            "ocr.program.no-checkpoint-eval",
            "there is no checkpoint {weights} (eval.ckpt_load_path, or best.ckpt of a run)",
            fix="train first: hccl-kit train -c {name}\nor name another: {option} eval.ckpt_load_path=FILE",
            weights=config.weights,
            name=name,
            option=option,
        )
    weights = WeightsFile.of(path)
    if speaks:
        progress.say(printable(str(weights)))
    return weights
