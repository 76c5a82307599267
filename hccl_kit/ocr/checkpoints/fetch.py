"""Weights that a configuration names by a URL: fetched atomically into a cache, verified by SHA-256.

A file that was fetched by hand may be put at the same place. The names of MindCV's backbones, such as mindcv:resnet18,
stand for the URLs of its ImageNet weights, those of its model files (mindspore-lab/mindcv, `default_cfgs`; releases
0.2.1 to 0.3.0).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.base.leftovers import sweep
from hccl_kit.base.message import Message
from hccl_kit.base.private_folder import make_private
from hccl_kit.base.temporary import beside
from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.checkpoints.download import BLOCK, Say, copy
from hccl_kit.ocr.file_errors import assert_file, cannot_read, cannot_write

PREFIX = "mindcv:"
_FOLDER = "https://download.mindspore.cn/toolkits/mindcv/"
URLS = {
    "mindcv:resnet18": f"{_FOLDER}resnet/resnet18-1e65cd21.ckpt",
    "mindcv:resnet50": f"{_FOLDER}resnet/resnet50-e0733ab8.ckpt",
    "mindcv:resnet152": f"{_FOLDER}resnet/resnet152-beb689d8.ckpt",
    "mindcv:mobilenet_v3_small_100": f"{_FOLDER}mobilenet/mobilenetv3/mobilenet_v3_small_100-509c6047.ckpt",
}
"""The backbones that networks of this package use: det_resnet18, 50 and 152, and cls_mobilenet_v3_small_100."""


def resolved(key: str, name: str) -> str:
    """The URL of such a name, and every other name itself.

    Raises KitError if MindCV's backbone is not one of these, or `key` names the weights of a whole network.
    """
    if not name.startswith(PREFIX):
        return name
    if not key.startswith("model.backbone."):
        raise KitError(
            "ocr.mindcv.weights-backbone",
            "{key} is {name}, the weights of a backbone",
            fix="set model.backbone.pretrained: {name}",
            key=key,
            name=name,
        )
    if name not in URLS:
        raise KitError(
            "ocr.mindcv.path-url",
            "{key} is {name}; accepted: {urls}, a path or a URL",
            key=key,
            name=name,
            urls=", ".join(URLS),
        )
    return URLS[name]


CACHE = "HCCL_KIT_CACHE"
"""The environment variable that names the cache folder; default: hccl_kit in $XDG_CACHE_HOME or ~/.cache."""

_SCHEME = re.compile("([A-Za-z][A-Za-z0-9+.-]*):/")
_SUM = re.compile("[0-9a-f]{64}")


def wanted(model: Mapping[str, Any]) -> dict[str, str]:
    """The keys of the section `model` that name weights, with their paths or URLs.

    Weights of the backbone are not needed if `model.pretrained` sets all parameters of the network. Raises KitError as
    `resolved` does.
    """
    whole, backbone = model["pretrained"], model["backbone"].get("pretrained")
    names = {}
    if isinstance(backbone, str) and backbone and not (whole and model["pretrained_strict"]):
        names["model.backbone.pretrained"] = backbone
    if whole:
        names["model.pretrained"] = whole
    return {key: resolved(key, name) for key, name in names.items()}


def fetch(model: Mapping[str, Any], environ: Mapping[str, str], say: Say) -> list[str]:
    """Fetch and verify all weights of the section `model`; returns notes. `say` is called before a wait.

    Raises KitError if a file cannot be fetched, with the place to put it by hand, or if a SHA-256 differs.
    """
    notes = []
    for key, name in wanted(model).items():
        expected = model["pretrained_sha256"] if key == "model.pretrained" else None
        path = local_path(key, name, environ)
        if _scheme(name) in ("http", "https"):
            notes.append(_fetched(name, path, expected, say))
        elif expected:
            _assert_sum(path, digest_of(path), expected)
    return notes


def local_path(key: str, name: str, environ: Mapping[str, str]) -> Path:
    """The path of the weights that `key` names: itself, a file in a package, or the file of a URL in the cache."""
    if name in rapidocr.FILES:
        return rapidocr.path(name)
    scheme = _scheme(name)
    if scheme is None:
        return Path(name)
    parts = _split(key, name)
    if scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(urllib.parse.unquote(parts.path))
    if scheme not in ("http", "https") or not parts.hostname:
        raise KitError(
            "ocr.fetch.path-url-begins",
            "{key} is {name}; accepted: a path, or a URL that begins with https://, http:// or file:///",
            key=key,
            name=name,
        )
    file = re.sub("[^A-Za-z0-9._+-]", "_", urllib.parse.unquote(parts.path).rsplit("/", 1)[-1])[-128:]
    if not file.strip("."):
        raise KitError(
            "ocr.fetch.names-no-file",
            "{key} is {name}, which names no file",
            fix="give the URL of a .ckpt or .safetensors file",
            key=key,
            name=name,
        )
    return cache(environ) / hashlib.sha256(name.encode()).hexdigest()[:12] / file


def cache(environ: Mapping[str, str]) -> Path:
    """The cache folder. Raises KitError if it would be in the home folder of a user who has none."""
    if environ.get(CACHE):
        return Path(environ[CACHE])
    user = Path(environ.get("XDG_CACHE_HOME") or "")
    try:
        return (user if user.is_absolute() else Path(environ.get("HOME") or "~").expanduser() / ".cache") / "hccl_kit"
    except RuntimeError as error:  # a container may run as a number without a user
        raise KitError(
            "ocr.fetch.user-no-home",
            "this user has no home folder for a cache",
            fix="set {cache} to a folder",
            cache=CACHE,
        ) from error


def _scheme(name: str) -> str | None:
    match = _SCHEME.match(name)
    return match[1].lower() if match else None


def _split(key: str, name: str) -> urllib.parse.SplitResult:
    if not name.isascii() or not name.isprintable() or " " in name:
        raise KitError(
            "ocr.fetch.url-visible-ascii",
            "{key} is {name!r}; accepted: a URL of visible ASCII characters, others as %20 and the like",
            key=key,
            name=name,
        )
    try:
        parts = urllib.parse.urlsplit(name)
        _ = parts.port  # ValueError if it is not a number
    except ValueError as error:
        raise KitError(
            "ocr.fetch.not-valid-url",
            "{key} is {name!r}, which is not a valid URL: {reason}",
            key=key,
            name=name,
            reason=error,
        ) from error
    if "@" in parts.netloc:
        raise KitError(
            "ocr.fetch.holds-user-name",
            "{key} holds a user name or a password before {hostname}; no credentials are sent",
            fix="download the file manually, and give its path instead of the URL",
            key=key,
            hostname=parts.hostname,
        )
    return parts


def _fetched(url: str, path: Path, expected: str | None, say: Say) -> str:
    """Fetch a URL to `path` unless it is there already; returns a note on where the file came from."""
    try:
        if expected:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        else:  # nothing else tells that the content is that of the URL
            make_private(path.parent)
        with _alone(path.parent, say):
            is_new = not path.is_file()
            digest = _download(url, path, expected, say) if is_new else digest_of(path)
    except OSError as error:
        hint = Message("ocr.fetch.cannot-write.fix", "{cache} names another folder", cache=CACHE)
        raise cannot_write(path, error, hint=hint) from error
    record = path.with_name(path.name + ".sha256")
    if is_new or not record.is_file():
        write_atomically(record, f"{digest}  {path.name}\n")
    _assert_sum(path, digest, expected or _recorded(record))
    where = f"downloaded from {url} to {path}" if is_new else f"{path}, downloaded from {url} before"
    return f"weights: {where}; SHA-256 {digest}"


def _recorded(record: Path) -> str:
    """The SHA-256 that was recorded after the download. Raises KitError if the record is not a checksum."""
    text = read_text(record, 4096).partition(" ")[0]
    if not _SUM.fullmatch(text):
        raise KitError("ocr.fetch.holds-no-sha", "{record} holds no SHA-256", fix="rm {record}", record=record)
    return text


def _assert_sum(path: Path, digest: str, expected: str) -> None:
    if digest != expected.lower():
        raise KitError(
            "ocr.fetch.sha-256",
            "{path} has the SHA-256 {digest}; expected {lower}",
            fix="it is damaged or another file: remove {path} and download it again, or correct the checksum",
            path=path,
            digest=digest,
            lower=expected.lower(),
        )


def digest_of(path: Path) -> str:
    """The SHA-256 of a regular file, in hexadecimal."""
    assert_file(path)
    checksum = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                checksum.update(block)
    except OSError as error:
        raise cannot_read(path, error) from error
    return checksum.hexdigest()


@contextmanager
def _alone(folder: Path, say: Say) -> Iterator[None]:
    """Lock the folder: the ranks of a job share a cache. Does nothing on file systems without locks."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"waiting: another process is downloading weights to {folder}")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _download(url: str, path: Path, expected: str | None, say: Say) -> str:
    """Fetch a file; returns its SHA-256. Raises OSError only if the file cannot be written."""
    by_hand = Message(
        "ocr.fetch.cannot-download.fix",
        "download it manually to {path}, or give the path of the file instead of the URL",
        path=path,
    )
    temporary = beside(path, f"{os.urandom(8).hex()}.tmp")
    sweep(path.parent)
    try:
        with temporary.open("xb") as file:
            digest = copy(url, file, say)
            os.fsync(file.fileno())
        if expected and digest != expected.lower():
            raise KitError(
                "ocr.fetch.download-sha-256",
                "the download has the SHA-256 {digest}; expected {lower}",
                digest=digest,
                lower=expected.lower(),
            )
        temporary.replace(path)
    except KitError as error:
        raise KitError(
            "ocr.fetch.cannot-download", "cannot download {url}: {reason}", hint=by_hand, url=url, reason=error.message
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return digest
