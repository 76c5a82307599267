"""The secret of a job whose servers are started separately: a file next to its script."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from hccl_kit.base.errors import KitError

SUFFIX = ".secret"
BYTES = 32


def secret_of(script: Path) -> Path:
    """The default file for the secret of a script; HCCL_KIT_SECRET_FILE overrides it."""
    return script.with_name(script.name + SUFFIX)


def make_secret(path: Path) -> bool:
    """Write a new secret that only the user can read; False if the file exists, which is kept.

    Raises KitError if it cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise KitError(
            "launch.secret-file.cannot-write", "cannot write {path}: {reason}", path=path, reason=error.strerror
        ) from error
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(BYTES) + "\n")
    return True
