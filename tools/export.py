"""Write a trained network as a file that other programs run: MINDIR for MindSpore, ONNX for the others.

python tools/export.py -c configs/rec/crnn/crnn_small.yaml --format both

Writes best.mindir and best.onnx beside the checkpoint eval.ckpt_load_path, or what --output says. Every file is loaded
again, MINDIR by MindSpore and ONNX by onnxruntime, and must give what the network gives; a line for each says how close
it is. All of that runs on the CPU. Images are float32 (batch, 3, height, width), and their shape is fixed: a file for
each size that you need. The ONNX file tells in its metadata what is done to the pixels before, and what its
classes stand for.
Files that are there already are kept, unless --force is given.
Exit codes: 0 done; 1 a file gives something else, and is not written; 2 it could not run.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.base import ctrl_c  # noqa: F401  # first: Ctrl-C while the rest loads
from hccl_kit.base.errors import KitError
from hccl_kit.base.output_place import assert_free_files
from hccl_kit.ocr.run import program

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime import World
    from hccl_kit.runtime.worker_env import WorkerEnv

SUFFIXES = {"mindir": (".mindir",), "onnx": (".onnx",), "both": (".mindir", ".onnx")}
ON_CPU = ("system.device_target=CPU", "system.mode=0")
"""What is compared is computed in float32, and what is written is a graph."""
LOG_NOTHING = "4"
"""MindSpore logs a page about what it cannot compile or write; the error that follows says it in a line."""


def main(argv: Sequence[str] | None = None) -> None:
    """Export as the command line says; ends the process with one of the exit codes above."""
    parser = program.parser(__doc__)
    parser.add_argument("--format", choices=list(SUFFIXES), help="default: both, or what --output ends in")
    parser.add_argument("--output", type=Path, metavar="NAME", help="the files, with or without .mindir or .onnx")
    parser.add_argument("--force", action="store_true", help="overwrite files that are there")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="images at a time (default: 1)")
    parser.add_argument(
        "--shape",
        type=int,
        nargs=2,
        metavar=("HEIGHT", "WIDTH"),
        help="of the images (default: as the pipeline of the evaluation makes them)",
    )
    args = parser.parse(argv)
    args.opt = [*args.opt, *ON_CPU]
    program.run(args, partial(_export, args), first=partial(_look, args))


def _look(args: argparse.Namespace, config: Config, env: WorkerEnv) -> Sequence[str]:
    """What can be wrong with the command line is said before anything heavy is loaded."""
    if env.size > 1:
        raise KitError(f"export.py runs as one process, {env.size} were started")
    args.format, args.output = _formats(args.format, args.output)
    lacking = [name for name in ("onnx", "onnxruntime") if not find_spec(name)]
    if ".onnx" in SUFFIXES[args.format] and lacking:
        raise KitError(
            f"{' and '.join(lacking)} cannot be loaded",
            hint="in the folder of this project: pip install -e '.[export]'; or --format mindir",
        )
    program.assert_weights(config)
    assert_free_files(_paths(args, config), "--output", force=args.force)
    os.environ.setdefault("GLOG_v", LOG_NOTHING)
    return ()


def _formats(wanted: str | None, output: Path | None) -> tuple[str, Path | None]:
    """The format, and the files' name without its ending: `--output x.onnx` names one file."""
    kind = output.suffix.removeprefix(".") if output else ""
    if output is None or output.suffix not in SUFFIXES["both"]:
        return wanted or "both", output
    if wanted not in (None, kind):
        raise KitError(
            f"--output {output} names one file of format {kind}, and --format is {wanted}",
            hint=f"leave one of both out, or --output {output.with_suffix('')}",
        )
    return kind, output.with_suffix("")


def _paths(args: argparse.Namespace, config: Config) -> list[Path]:
    """The files to write; by default they are named as the checkpoint is."""
    prefix = args.output or config.weights.with_suffix("")
    return [prefix.with_name(prefix.name + suffix) for suffix in SUFFIXES[args.format]]


def _export(args: argparse.Namespace, config: Config, world: World, notes: list[str]) -> None:
    from hccl_kit.ocr.serve import export, export_metadata  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.train.build import trained_network  # noqa: PLC0415

    del world, notes
    shape = export_metadata.input_shape(config, args.shape, args.batch)
    network = trained_network(config)
    for path in _paths(args, config):
        print(export.export(network, shape, path, export_metadata.facts(config)), flush=True)


if __name__ == "__main__":
    main()
