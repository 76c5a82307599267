"""Write a trained network as a file that other programs run: MINDIR for MindSpore, ONNX for all
others.

Writes best.mindir and best.onnx next to the checkpoint, or the files of --output. The checkpoint is
best.ckpt of the training of the configuration, or the file eval.ckpt_load_path; stderr names it.
Each file is loaded again, MINDIR by MindSpore and ONNX by onnxruntime, and must give the output of
the network; a line for each file shows the difference. All of this runs on the CPU.
Images are float32 (batch, 3, height, width) of a fixed shape: export a file for each size that you
need. The metadata of the ONNX file describes the preprocessing and the classes.
The ONNX file of a network of PP-OCR takes all sizes and has the form of PaddleOCR's files: rapidocr
and other programs that run those run it unchanged.
Existing files are kept unless --force is given.

examples:
  hccl-kit export -c rec/crnn/crnn_small.yaml --format both

Exit codes: 0 done; 1 a file gives another output than the network, and is not written; 2 could not
run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hccl_kit.base import progress
from hccl_kit.base.arguments import Parser, a_path
from hccl_kit.base.errors import KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.base.output_place import assert_free_files
from hccl_kit.ocr.run import inputs, program

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime.join import World
    from hccl_kit.runtime.worker_env import WorkerEnv

SUFFIXES = {"mindir": (".mindir",), "onnx": (".onnx",), "both": (".mindir", ".onnx")}
ON_CPU = ("system.device_target=CPU", "system.mode=0")
"""The outputs are compared in float32, and the file holds a graph."""
LOG_NOTHING = "4"
"""Value of GLOG_v: MindSpore logs a page when it cannot compile or write a network; this program prints one line."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for; `output` and `shape` are None for the defaults."""

    format: str | None
    output: Path | None
    force: bool
    batch: int
    shape: tuple[int, ...] | None

    def paths(self, config: Config) -> list[Path]:
        """The files to write, named like the checkpoint by default. Raises KitError if the options contradict."""
        output, wanted = self.output, self.format or "both"
        if output is not None and output.suffix in SUFFIXES["both"]:
            kind = output.suffix.removeprefix(".")
            if self.format not in (None, kind):
                raise KitError(
                    "ocr.export.output-names-file",
                    "--output {output} names one file of format {kind}, and --format is {format}",
                    fix="omit one of the two, or --output {with_suffix}",
                    output=output,
                    kind=kind,
                    format=self.format,
                    with_suffix=output.with_suffix(""),
                )
            output, wanted = output.with_suffix(""), kind
        prefix = output or config.weights.with_suffix("")
        return [prefix.with_name(prefix.name + suffix) for suffix in SUFFIXES[wanted]]


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The program; ends the process with one of the exit codes above."""
    args = make_parser().parse(argv)
    shape = tuple(args.shape) if args.shape else None
    request = Request(args.format, args.output, args.force, args.batch, shape)
    options = program.Options(args.config, (*args.opt, *ON_CPU), args.launcher)
    program.run(options, partial(_export, request), first=partial(_check, request), plain_convolutions=True)


def make_parser() -> Parser:
    """The options of the program."""
    parser = program.parser(__doc__, "export")
    parser.add_argument(
        "--format", choices=list(SUFFIXES), help="what to write (default: both, or by the ending of --output)"
    )
    parser.add_argument(
        "--output", type=a_path, metavar="NAME", help="name of the files, with or without .mindir or .onnx"
    )
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="images in a batch (default: 1)")
    parser.add_argument(
        "--shape",
        type=int,
        nargs=2,
        metavar=("HEIGHT", "WIDTH"),
        help="size of the images (default: the size that the pipeline of the evaluation makes)",
    )
    return parser


def _check(request: Request, config: Config, env: WorkerEnv) -> Sequence[str]:
    """Raises KitError, before any heavy import, if the request cannot be fulfilled."""
    program.assert_alone(env, "export")
    paths = request.paths(config)
    lacking = [name for name in ("onnx", "onnxruntime") if not find_spec(name)]
    if lacking and any(path.suffix == ".onnx" for path in paths):
        raise KitError(
            "ocr.export.cannot-imported",
            "{lacking} cannot be imported",
            fix="{install_extra}\nor --format mindir",
            lacking=" and ".join(lacking),
            install_extra=install_extra("export"),
        )
    inputs.weights_in_use(config)
    assert_free_files(paths, "--output", force=request.force)
    os.environ.setdefault("GLOG_v", LOG_NOTHING)
    return ()


def _export(request: Request, config: Config, world: World, notes: list[str]) -> None:
    from hccl_kit.ocr.serve import export, export_metadata  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.train.build import network_to_export  # noqa: PLC0415

    del world, notes
    shape = export_metadata.input_shape(config, request.shape, request.batch)
    network = network_to_export(config)
    paths, facts, order = request.paths(config), export_metadata.facts(config), export_metadata.order(config)
    with progress.track(paths, len(paths), "exporting") as tracked:
        for path in tracked:
            progress.say(str(export.export(network, shape, path, facts, order)), sys.stdout)
    progress.say("next: docs/deploy.md: onnxruntime, MindSpore Lite, and atc for Ascend")
    if config.values.get("postprocess", {}).get("language_model"):
        progress.say("postprocess.language_model is in no exported file: they read what the network reads alone")


if __name__ == "__main__":
    main()
