"""The folders `schemas` and `configs`: an installed package contains them, a checkout has them next to it."""

from __future__ import annotations

from pathlib import Path


def folder(name: str) -> Path | None:
    """The folder `name`; None if this installation lacks it."""
    package = Path(__file__).parents[1]
    return next((path for path in (package / name, package.parent / name) if path.is_dir()), None)


def config(name: Path) -> Path | None:
    """The shipped file `name`, which may start with `configs/` and lack `.yaml`; None if there is no such file."""
    configs = folder("configs")
    if configs is None or name.is_absolute() or ".." in name.parts:
        return None
    path = configs.joinpath(*name.parts[name.parts[:1] == ("configs",) :])
    try:
        return next((file for file in (path, path.with_name(f"{path.name}.yaml")) if file.is_file()), None)
    except OSError:  # such as: the name is too long
        return None


def short_name(path: str) -> str:
    """The name of the shipped file at `path`, such as `rec/crnn/crnn_small.yaml`; any other path unchanged."""
    configs = folder("configs")
    return str(Path(path).relative_to(configs)) if configs and Path(path).is_relative_to(configs) else path


def config_names() -> list[str]:
    """The names of all shipped configurations, such as `rec/crnn/crnn_small.yaml`."""
    configs = folder("configs")
    return sorted(path.relative_to(configs).as_posix() for path in configs.rglob("*.yaml")) if configs else []
