"""Inference in batches, by MindSpore or another library behind the same interface, and the score of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.base import progress
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.drawing import Image
from hccl_kit.ocr.metrics.counts import Counts
from hccl_kit.ocr.run.consistency import assert_one_data_set, assert_one_dictionary
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.task import Task
from hccl_kit.runtime.join import World

Run = Callable[[NDArray[np.float32]], NDArray[Any]]
"""From images (N, 3, H, W) to the outputs of the network."""


class Runner(Protocol):
    """A network with its weights."""

    any_size: bool
    """Whether one graph takes batches of all sizes; else each shape costs a compilation."""
    at_once: int
    """Batches that may run at the same time, by as many threads."""

    def of_shape(self, shape: Sequence[int]) -> Run:
        """The network for images of this shape (N, 3, H, W). Call it from the main thread."""


class Compiled:
    """A network that MindSpore compiles, in evaluation mode; `any_size`: once for all sizes."""

    at_once = 1

    def __init__(self, network: nn.Cell, *, any_size: bool) -> None:
        self.network = network
        self.any_size = any_size
        network.set_train(False)
        if any_size:
            network.set_inputs(Tensor(shape=(None, 3, None, None), dtype=ms.float32))

    def of_shape(self, shape: Sequence[int]) -> Run:
        """The network itself."""
        del shape
        return self._run

    def _run(self, images: NDArray[np.float32]) -> NDArray[Any]:
        output: NDArray[Any] = self.network(Tensor(images)).asnumpy()
        return output


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction for a transformed sample; `error` says why its image could not be used."""

    number: int
    """Its index among the requested samples."""
    sample: Any
    value: Any
    error: str | None = None


class _Batch(NamedTuple):
    """Images of one width, and the network that takes them."""

    rows: Sequence[tuple[int, loader.Row]]
    """Transformed samples with their numbers."""
    images: NDArray[np.float32]
    run: Run


class Inference:
    """Runs networks of a task with the pipeline and the loader of a section `eval`; it needs no labels."""

    def __init__(self, task: Task, section: Mapping[str, Any]) -> None:
        self.task = task
        self.transform = pipeline(section["dataset"]["transform_pipeline"], without=task.label_transforms)
        self.batch_size: int = section["loader"]["batch_size"]
        self.workers: int = section["loader"]["num_workers"]
        self.widths: Sequence[int] = sorted(section["loader"]["bucket_widths"] or ())

    def batches(
        self, network: nn.Cell | Runner, samples: Sequence[Any], share: NDArray[np.intp] | None = None
    ) -> Iterator[list[Prediction]]:
        """The predictions for `samples`, or for those whose numbers `share` holds.

        An image that cannot be used is replaced by a blank one. The predictions are in order, unless lines wait for
        others of their width. A line is always read at the same width, whatever the other lines are.
        """
        numbers = np.arange(len(samples)) if share is None else share
        runner = self._compiled(network) if isinstance(network, nn.Cell) else network
        made = self._batches(runner, samples, numbers)
        if runner.at_once == 1:
            return map(self._predicted, made)
        return loader.prefetch(made, self._predicted, runner.at_once)

    def _compiled(self, network: nn.Cell) -> Compiled:
        return Compiled(network, any_size=bool(self.widths) and getattr(network, "any_width", False))

    def _batches(self, runner: Runner, samples: Sequence[Any], numbers: NDArray[np.intp]) -> Iterator[_Batch]:
        tasks = [numbers[start : start + self.batch_size] for start in range(0, len(numbers), self.batch_size)]
        make = partial(loader.eval_rows, samples, transform=self.transform, blank=self.task.blank)
        waiting: dict[int | None, list[tuple[int, loader.Row]]] = {}
        for number, row in enumerate(chain.from_iterable(loader.prefetch(tasks, make, self.workers))):
            width = self._width(row.sample)
            batch = waiting.setdefault(width, [])
            batch.append((number, row))
            if len(batch) == self.batch_size:
                yield self._batch(runner, waiting.pop(width), width, self.batch_size)
        for width, batch in waiting.items():
            yield self._batch(runner, batch, width, len(batch) if runner.any_size else self.batch_size)

    def _width(self, sample: Any) -> int | None:
        """The width to which the image of a line is cropped; None: it stays as it is."""
        if not self.widths or sample.columns is None:
            return None
        return next((width for width in self.widths if width >= sample.columns), None)

    def _batch(self, runner: Runner, rows: Sequence[tuple[int, loader.Row]], width: int | None, size: int) -> _Batch:
        """A batch that is filled up to `size` with repeats: a static graph is compiled anew for each shape."""
        samples = [row.sample for _, row in rows]
        filled = loader.stack_images([*samples, *[samples[-1]] * (size - len(samples))])
        images = np.ascontiguousarray(filled[..., :width])
        return _Batch(rows, images, runner.of_shape(images.shape))

    def _predicted(self, batch: _Batch) -> list[Prediction]:
        samples = [row.sample for _, row in batch.rows]
        # A network in mixed precision may end in float16, which OpenCV does not know.
        values = self.task.decode(batch.run(batch.images).astype(np.float32, copy=False), samples)
        return [
            Prediction(number, row.sample, value, row.error)
            for (number, row), value in zip(batch.rows, values, strict=True)
        ]


T = TypeVar("T")


def in_order(numbered: Iterable[tuple[int, T]]) -> Iterator[T]:
    """The values of 0, 1, 2 and so on, each as soon as those before it are there."""
    early: dict[int, T] = {}
    following = 0
    for number, value in numbered:
        early[number] = value
        while following in early:
            yield early.pop(following)
            following += 1


class Scores(NamedTuple):
    """The counts over all ranks, and how far the prediction for each sample of this rank is from its truth."""

    counts: Counts
    distances: NDArray[np.float32]


class Evaluator:
    """Scores a network on the data set of the section `eval`; built once, used after any number of epochs."""

    def __init__(self, config: Config, world: World, warn: Callable[[str], None]) -> None:
        self.world = world
        self.warn = warn
        self.task = recipes.task(config)
        assert_one_dictionary(self.task.dictionary, world)
        self.samples = self.task.eval_samples(warn)
        assert_one_data_set("eval", self.samples, world)
        self.inference = Inference(self.task, config["eval"])
        self.bad: set[str] = set()

    def __call__(
        self,
        network: nn.Cell | Runner,
        *,
        quiet: bool = True,
        see: Callable[[Prediction], object] = lambda _: None,
        alive: Callable[[], None] = lambda: None,
    ) -> Scores:
        """The scores; no image is kept.

        Unless `quiet`, the progress is shown; `see` gets each prediction of this rank, and `alive` is called after
        every batch. Every rank must call it. Raises KitError if no image can be read.
        """
        share = loader.eval_share(len(self.samples), rank=self.world.rank, size=self.world.size)
        totals = self.task.counts().to_array().astype(np.float64)
        distances, unread = np.zeros(len(share), np.float32), 0
        predictions = self._predict(network, share, alive)
        with progress.track(predictions, len(share), "evaluating", quiet=quiet) as predicted:
            for prediction in predicted:
                counts = self.task.count(prediction.sample, prediction.value)
                totals += counts.to_array()
                distances[prediction.number] = self.task.distance(counts, prediction.value)
                unread += prediction.error is not None
                see(prediction)
        sums = self.world.all_reduce(np.append(totals, unread).astype(np.float32))
        if sums[-1] == len(self.samples):
            raise KitError(
                "ocr.evaluate.none-images-evaluation",
                "none of the {count} images of the evaluation can be read",
                fix="check eval.dataset: dataset_root, data_dir, label_file",
                count=len(self.samples),
            )
        return Scores(self.task.counts.from_array(sums[:-1]), distances)

    def picture_of_worst(self, network: nn.Cell | Runner, distances: NDArray[np.float32], most: int) -> Image | None:
        """The samples of all ranks that are furthest from their truth, the worst first; None if all are right.

        `distances` are those of this rank. Every rank must call it. Rank 0 predicts these few anew, so that no rank
        keeps images or sends them; the others get None.
        """
        joint = np.zeros(len(self.samples), np.float32)
        joint[loader.eval_share(len(self.samples), rank=self.world.rank, size=self.world.size)] = distances
        joint = self.world.all_reduce(joint)
        chosen = np.argsort(-joint, kind="stable")[: min(most, int((joint > 0).sum()))]
        if not len(chosen) or not self.world.is_main:
            return None
        predicted = chain.from_iterable(self.inference.batches(network, self.samples, chosen))
        return self.task.comparison(
            in_order((prediction.number, (prediction.sample, prediction.value)) for prediction in predicted)
        )

    def _predict(
        self, network: nn.Cell | Runner, share: NDArray[np.intp], alive: Callable[[], None]
    ) -> Iterator[Prediction]:
        for predictions in self.inference.batches(network, self.samples, share):
            alive()
            for prediction in predictions:
                path, error = prediction.sample.path, prediction.error
                if error and str(path) not in self.bad:
                    self.bad.add(str(path))
                    self.warn(f"evaluation: {path} cannot be used, a black image replaces it: {error}")
                yield prediction
