"""The secret of a job whose servers are started by hand: a file beside its script, made once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from hccl_kit.base.errors import KitError

SUFFIX = ".secret"
BYTES = 32


def secret_of(script: Path) -> Path:
    """Where a script looks for its secret, unless HCCL_KIT_SECRET_FILE names another file."""
    return script.with_name(script.name + SUFFIX)


def make_secret(path: Path) -> bool:
    """Write a new secret that only the user can read; False where the file is there already, which stays as it is.

    Raises KitError if it cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise KitError(f"cannot write {path}: {error.strerror}") from error
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(BYTES) + "\n")
    return True
