"""Outputs of tools and contents of files, recreated from reports and documents; each sample names its source."""

from pathlib import Path


def sample(name: str) -> str:
    """The text of a sample without the lines that name its source, such as `sample("a2/npu-smi-info.txt")`."""
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if not line.startswith("# ") or line.startswith("# version:"))
    return "".join(lines[start:])
