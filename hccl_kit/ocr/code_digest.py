"""Which code runs: a digest of the modules of this package."""

from __future__ import annotations

import hashlib
from pathlib import Path

import hccl_kit


def code_digest(folder: Path = Path(hccl_kit.__file__).parent) -> str:
    """SHA-256 of the package's modules, by name and content."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()
