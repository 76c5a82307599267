"""What is converted to label files, and from where to where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.output_place import assert_free_files, assert_free_folder
from hccl_kit.base.wording import either
from hccl_kit.ocr.data.published import sets


@dataclass(frozen=True, slots=True)
class Conversion:
    """What to convert, and its places."""

    dataset: str
    task: str
    images: Path | None
    labels: Path
    wanted_output: Path | None
    force: bool
    absolute: bool
    """Whether the label file holds absolute paths."""

    @property
    def is_list(self) -> bool:
        """Whether the labels are a word list, whose images need no cutting."""
        cuts_pages = self.dataset in sets.PAGE_SETS and "rec" in sets.PAGE_SETS[self.dataset].tasks
        return self.task == "rec" and self.dataset in sets.WORD_SETS and (self.labels.is_file() or not cuts_pages)

    @property
    def output(self) -> Path:
        """The label file to write."""
        if self.wanted_output is not None:
            return self.wanted_output
        if self.is_list or self.images is None:
            return self.labels.with_name("rec_gt.txt")
        return self.labels.parent / f"{self.images.resolve().name}_{self.task}_gt.txt"

    @property
    def data_dir(self) -> Path:
        """The folder that the label file names images in."""
        if self.absolute:
            return Path("/")
        if self.is_list:
            return self.images or self.labels.parent
        return self.images if self.task == "det" and self.images else self.output.parent

    @property
    def folder(self) -> Path:
        """Where the images of lines are written."""
        return self.output.with_suffix("")


def assert_places(request: Conversion) -> None:
    """Raises KitError if an input does not exist, or does not go with the task, or an output cannot be written."""
    tasks = sets.tasks(request.dataset)
    if request.task not in tasks:
        raise KitError(
            "ocr.convert-dataset.no-labels-task",
            "{dataset} has no labels for --task {task}",
            fix="--task {tasks}",
            dataset=request.dataset,
            task=request.task,
            tasks=either(tasks),
        )
    if not request.is_list:
        _assert_folders(request)
    output = request.output
    assert_free_files([output], "--output_path", force=request.force)
    if not request.is_list and request.task != "det":
        if not output.suffix:
            hint = Message("ocr.convert-dataset.output-path-name.fix", "--output_path {output}.txt", output=output)
            raise KitError(
                "ocr.convert-dataset.output-path-name",
                "--output_path {output} is the name of the images' folder too",
                hint=hint,
                output=output,
            )
        assert_free_folder(request.folder, "--output_path", force=request.force)


def _assert_folders(request: Conversion) -> None:
    label, image, published = request.labels, request.images, sets.PAGE_SETS[request.dataset]
    if not label.exists():
        raise KitError(
            "ocr.convert-dataset.label-dir-not",
            "--label_dir {label} does not exist",
            fix="name {labels}",
            label=label,
            labels=published.labels,
        )
    fits = {"a folder": label.is_dir(), "a file": label.is_file(), "a folder or a file": label.exists()}
    if not fits[published.labels]:
        hint = Message(
            "ocr.convert-dataset.label-dir-not-2.fix",
            "{dataset}: see the table of sets in docs/train.md",
            dataset=request.dataset,
        )
        if request.dataset == "ic15":
            hint = Message(
                "ocr.convert-dataset.label-dir-not-2.fix-2",
                "only the word list of ic15 is a file: --task rec --label_dir gt.txt",
            )
        raise KitError(
            "ocr.convert-dataset.label-dir-not-2",
            "--label_dir {label} is not {labels}",
            hint=hint,
            label=label,
            labels=published.labels,
        )
    if image is None:
        raise KitError(
            "ocr.convert-dataset.image-dir-missing",
            "--image_dir is missing, the folder of the pages that {label} labels",
            fix="add -i FOLDER",
            label=label,
        )
    if not image.is_dir():
        raise KitError(
            "ocr.convert-dataset.image-dir-not",
            "--image_dir {image} is not a folder",
            fix="name the folder of the pages",
            image=image,
        )
