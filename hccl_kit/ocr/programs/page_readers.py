"""The networks that read the texts of a page after its detector: the options --read and --turn of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import UPSIDE_DOWN
from hccl_kit.ocr.run import inputs, program

if TYPE_CHECKING:
    from hccl_kit.ocr.checkpoints.weights_file import WeightsFile
    from hccl_kit.ocr.config import Config
    from hccl_kit.ocr.serve.predict import Trained


@dataclass(frozen=True, slots=True)
class Other:
    """A second configuration of the command line: the option that names it, its file and its overrides."""

    option: str
    path: Path | None
    overrides: tuple[str, ...]

    def load(self) -> Config | None:
        """The configuration; None if the option is not given."""
        return None if self.path is None else inputs.load(self.path, self.overrides)


@dataclass(frozen=True, slots=True)
class PageReaders:
    """The recognition that reads texts, and the classification that finds lines upside down."""

    read: Other
    turn: Other

    @classmethod
    def of(
        cls, read: Path | None, read_overrides: Sequence[str], turn: Path | None, turn_overrides: Sequence[str]
    ) -> PageReaders:
        """Those that the options name."""
        return cls(Other("--read", read, tuple(read_overrides)), Other("--turn", turn, tuple(turn_overrides)))

    def check(self, kind: str) -> None:
        """Raises KitError, before any heavy import, if they do not belong after a network of type `kind`.

        The choices of their configurations and the files of their weights are named on standard error.
        """
        for other in (self.read, self.turn):
            if other.overrides and other.path is None:
                raise KitError("ocr.predict.opt-requires", "{option}-opt requires {option}", option=other.option)
        if self.turn.path is not None and self.read.path is None:
            raise KitError(
                "ocr.predict.turn-requires-read", "--turn requires --read", fix="it turns the lines that --read reads"
            )
        reader, turner = self.read.load(), self.turn.load()
        for other, loaded in ((self.read, reader), (self.turn, turner)):
            if other.path is not None and loaded is not None:
                inputs.note_choices(other.path, loaded)
        _assert_chain(kind, reader, turner)

    def find_weights(self, *, speaks: bool = True) -> None:
        """Raises KitError if a file is missing: a dictionary, or weights; `speaks`: name these on standard error."""
        for other in (self.read, self.turn):
            if (config := other.load()) is not None:
                inputs.assert_files(config)
                inputs.weights_in_use(config, f"{other.option}-opt", speaks=speaks)

    def weights(self) -> Iterator[WeightsFile]:
        """The files of their weights."""
        for config in (self.read.load(), self.turn.load()):
            if config is not None:
                yield inputs.weights_in_use(config, speaks=False)

    def trained(self, engine: str) -> tuple[Trained | None, Trained | None]:
        """Both with their weights, one batch at a time: all lines of a page are read before the next page."""
        from hccl_kit.ocr.programs.engines import trained  # noqa: PLC0415  # after MindSpore's environment is complete
        from hccl_kit.ocr.serve.predict import inference_of  # noqa: PLC0415

        def made(config: Config | None) -> Trained | None:
            if config is None:
                return None
            inference = inference_of(config)
            return inference, trained(config, inference, engine, images=1)

        return made(self.read.load()), made(self.turn.load())


def add_options(parser: Parser) -> None:
    """Add --read, --turn, and the overrides of both."""
    parser.add_argument(
        "--read", type=a_path, metavar="CONFIG", help="configuration of the recognition that reads the detected texts"
    )
    parser.add_argument("--read-opt", **program.OVERRIDES, help="replace values of the configuration of --read")
    parser.add_argument(
        "--turn", type=a_path, metavar="CONFIG", help="configuration of the classification that finds lines upside down"
    )
    parser.add_argument("--turn-opt", **program.OVERRIDES, help="replace values of the configuration of --turn")


def _assert_chain(kind: str, reader: Config | None, turner: Config | None) -> None:
    """Raises KitError if a configuration is not of the type that its option takes."""
    if reader is not None and (kind, reader["model"]["type"]) != ("det", "rec"):
        raise KitError(
            "ocr.predict.config-type-read",
            "--config is of type {kind} and --read of type {type}",
            fix="--config takes a detection (det) and --read a recognition (rec)",
            kind=kind,
            type=reader["model"]["type"],
        )
    if turner is not None:
        if turner["model"]["type"] != "cls":
            raise KitError(
                "ocr.predict.turn-type",
                "--turn is of type {type}; accepted: a classification (cls)",
                type=turner["model"]["type"],
            )
        labels = turner["postprocess"]["label_list"]
        if UPSIDE_DOWN not in labels:
            raise KitError(
                "ocr.predict.turn-classes",
                "--turn has the classes {labels}; {upside_down}, upside down, is missing",
                labels=", ".join(labels),
                upside_down=UPSIDE_DOWN,
            )
