"""Lines read from their files to their texts by both engines, against onnxruntime with the exported file alone.

    python -m benchmarks.read_lines [--lines 256] [--rounds 3]

The peer gets the batches that ours has made, and runs the exported file on them with as many threads: it decodes no
image and no text. Beside the small network, whose images are quickly read by the network itself, a second peer does all
of the work and must read the same texts: a loop over batches with OpenCV and onnxruntime, as one would write it. All
take turns in one process.
"""

from __future__ import annotations

import argparse
import math
import os
import string
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.row import Row
from hccl_kit.ocr.run import engine
from hccl_kit.ocr.run.start import start_alone

THREADS = 2
ALONE, LOOP = "the exported file in onnxruntime", "a loop with OpenCV and onnxruntime"
ENGINES = (engine.ONNXRUNTIME, engine.MINDSPORE)
SMALL, MORE = "crnn_small", 4
"""The small network reads so many times more lines: with fewer, a round would take a tenth of a second."""
BATCH, HEIGHT, WIDTH, CHARACTERS = 32, 32, 100, string.digits + string.ascii_lowercase
"""Values of crnn_small.yaml that the loop needs."""
CONFIGS = {SMALL: "rec/crnn/crnn_small.yaml", "PP-OCRv6 small": "rec/ppocr/v6_small_finetune.yaml"}


class Batches:
    """A runner that passes each batch on to another one, and keeps it."""

    any_size, at_once = True, 1

    def __init__(self, runner: Any) -> None:
        self.runner, self.any_size = runner, runner.any_size
        self.images: list[Any] = []

    def of_shape(self, shape: Sequence[int]) -> Callable[[Any], Any]:
        run = self.runner.of_shape(shape)

        def kept(images: Any) -> Any:
            self.images.append(images)
            return run(images)

        return kept


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    for row in measured(args.lines, args.rounds):
        print(f"{row.what}: {row.ours:.1f} lines/s; {row.peer}: {row.peers:.1f}; ratio {row.ratio:.2f}")


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`."""
    return measured(1024, 9) if full else measured(256, 3)


def measured(count: int, rounds: int) -> Iterator[Row]:
    """Drawn words: `count` for the network of rapidocr, `MORE` times as many for the small one, which is untrained."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    start_alone()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HCCL_KIT_CACHE"] = folder
        paths = drawn(Path(folder), count * MORE)
        for name, config in CONFIGS.items():
            chosen = paths if name == SMALL else paths[:count]
            yield from of_network(name, Path(config), Path(folder), chosen, rounds)


def of_network(name: str, given: Path, folder: Path, paths: Sequence[Path], rounds: int) -> Iterator[Row]:
    """Both engines with one network."""
    import onnxruntime  # noqa: PLC0415  # an extra

    from hccl_kit.ocr.checkpoints import checkpoint  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.data.samples import TextLine  # noqa: PLC0415
    from hccl_kit.ocr.infer.inference import Inference  # noqa: PLC0415
    from hccl_kit.ocr.programs import engines  # noqa: PLC0415
    from hccl_kit.ocr.run import inputs  # noqa: PLC0415
    from hccl_kit.ocr.tasks import recipes  # noqa: PLC0415

    weights = folder / "fresh.ckpt" if name == SMALL else "rapidocr:rec"
    alone = "postprocess.language_model=null"  # as onnxruntime reads
    config = inputs.load(given, [f"eval.ckpt_load_path={weights}", alone])
    if isinstance(weights, Path):
        checkpoint.save(weights, recipes.network(config).get_parameters())
    inference = Inference(recipes.task(config), config["eval"])
    lines = [TextLine(path) for path in paths]
    networks = {one: engines.trained(config, inference, one, images=len(lines)) for one in ENGINES}
    kept: Any = Batches(networks[engine.ONNXRUNTIME])
    read = [prediction.value.text for batch in inference.batches(kept, lines) for prediction in batch]
    (file,) = kept.runner.folder.glob(f"{kept.runner.name}*")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    alone = onnxruntime.InferenceSession(file, options)
    source = alone.get_inputs()[0].name
    ways: dict[str, Callable[[], object]] = {
        one: lambda network=network: list(inference.batches(network, lines))  # type: ignore[misc]
        for one, network in networks.items()
    }
    ways[ALONE] = lambda: [alone.run(None, {source: images}) for images in kept.images]
    if name == SMALL:
        assert looped(alone, paths) == read, "the loop reads other texts"
        ways[LOOP] = lambda: looped(alone, paths)
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for run in ways.values():
        run()
    for _ in range(rounds):
        for way, run in ways.items():
            began = time.perf_counter()
            run()
            seconds[way].append(time.perf_counter() - began)
    rates = {way: len(lines) / median(each) for way, each in seconds.items()}
    for one in ENGINES:
        for peer in (ALONE, LOOP):
            if peer in rates:
                what = f"reading lines with {name}, `--engine {one}`, two threads"
                yield Row(what, peer, "lines/s", rates[one], rates[peer])


def looped(session: Any, paths: Sequence[Path]) -> list[str]:
    """The texts of the images by crnn_small, without anything of ours."""
    import cv2  # noqa: PLC0415  # after MindSpore's environment is complete

    source, texts = session.get_inputs()[0].name, []
    for first in range(0, len(paths), BATCH):
        images = np.zeros((len(paths[first : first + BATCH]), HEIGHT, WIDTH, 3), np.uint8)
        for image, path in zip(images, paths[first:], strict=False):
            read = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
            width = min(WIDTH, math.ceil(HEIGHT * read.shape[1] / read.shape[0]))
            image[:, :width] = cv2.resize(read, (width, HEIGHT))
        values = ((images.astype(np.float32) - 127) / 127).transpose(0, 3, 1, 2)
        for classes in session.run(None, {source: values})[0].argmax(2):
            seen = classes[np.insert(classes[1:] != classes[:-1], 0, True)]
            texts.append("".join(CHARACTERS[one] for one in seen if one < len(CHARACTERS)))
    return texts


def drawn(folder: Path, count: int) -> list[Path]:
    """Images of words of one to three syllables."""
    import cv2  # noqa: PLC0415  # after MindSpore's environment is complete

    generator = np.random.default_rng(0)
    paths = []
    for number in range(count):
        word = "".join(generator.choice(list("abcdefghijklmnopqrstuvwxyz"), generator.integers(3, 10)))
        (width, height), _ = cv2.getTextSize(word, cv2.FONT_HERSHEY_SIMPLEX, 1, 2)
        image = np.full((height + 20, width + 16, 3), 255, np.uint8)
        cv2.putText(image, word, (8, height + 6), cv2.FONT_HERSHEY_SIMPLEX, 1, (0, 0, 0), 2, cv2.LINE_AA)
        paths.append(folder / f"{number}.png")
        cv2.imwrite(str(paths[-1]), image)
    return paths


if __name__ == "__main__":
    main()
