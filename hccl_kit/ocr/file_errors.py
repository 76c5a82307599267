"""Files and folders that cannot be read or written, as errors for the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message

OF_A_RUN = Message("ocr.file-errors.run-folder.fix", "see train.ckpt_save_dir")
"""The next step if the folder of a run cannot be written."""


def cannot_read(path: object, error: Exception) -> KitError:
    """The error for a file or folder that the system, or a limit of ours, keeps from being read."""
    reason = getattr(error, "strerror", None) or error
    return KitError("ocr.file-errors.cannot-read", "cannot read {path}: {reason}", path=path, reason=reason)


def cannot_write(path: Path, error: OSError, *, hint: Message | None = None) -> KitError:
    """The error for a file that the system keeps from being written."""
    message = Message("ocr.file-errors.cannot-write", "cannot write {path}: {reason}", path=path, reason=error.strerror)
    return KitError(message, hint=hint)


@contextmanager
def writing_into(folder: Path, *, hint: Message | None = None) -> Iterator[None]:
    """Raises KitError if the block, which writes into `folder`, raises OSError."""
    try:
        yield
    except OSError as error:
        raise KitError(
            "ocr.file-errors.cannot-write-into",
            "cannot write into {folder}: {reason}",
            hint=hint,
            folder=folder,
            reason=error.strerror,
        ) from error


def assert_file(path: Path) -> None:
    """Raises KitError if there is no regular file: opening a named pipe would wait for a writer."""
    if not path.is_file():
        raise KitError("ocr.file-errors.no-file", "there is no file {path}", path=path)
