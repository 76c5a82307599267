"""Manifests as YAML, and the size limits of Kubernetes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.table.document import decode

Value = dict[str, Any]
"""An object of a manifest."""

MAX_MAP = 1 << 20
"""Bytes of the values of a ConfigMap; those in Base64 count by their decoded size."""
MAX_APPLIED = 256 << 10
"""Bytes of all annotations of an object; `kubectl apply` puts the whole object into one."""
_WORD = re.compile("-{0,2}[A-Za-z_/].+")
"""Strings that need no quotes in any version of YAML. PyYAML follows YAML 1.1, where `1e-4` and `0o17` are strings;
kubectl reads them as numbers, and `y` and `n` as booleans."""
_OTHER_BREAKS = frozenset("\r\x85\u2028\u2029")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def config_map(
    name: str, namespace: str, data: Mapping[str, str | bytes], labels: Mapping[str, str] | None = None
) -> Value:
    """A ConfigMap of files, those that are not text last. Raises KitError if Kubernetes would not accept its size."""
    assert_fits(name, sum(len(value.encode() if isinstance(value, str) else value) for value in data.values()))
    metadata = {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})}
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    coded = {key: base64.b64encode(value).decode() for key, value in data.items() if isinstance(value, bytes)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        **({"data": texts} if texts else {}),
        **({"binaryData": coded} if coded else {}),
    }


def assert_fits(name: str, size: int, hint: Message | None = None) -> None:
    """Raises KitError if Kubernetes would not accept a ConfigMap of this size in bytes."""
    if size > MAX_MAP:
        raise KitError(
            "launch.manifest.configmap-would-bytes",
            "ConfigMap {name} would have {size} bytes; Kubernetes accepts {max_map}",
            hint=hint,
            name=name,
            size=size,
            max_map=MAX_MAP,
        )


def applied_size(document: Value) -> int:
    """Bytes of the annotation in which `kubectl apply` stores a document."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return len(f"{_APPLIED}{text}\n".encode())


def verb(documents: Sequence[Value]) -> str:
    """The command of kubectl that takes the documents: create, if one is too large for apply."""
    return "create" if max(map(applied_size, documents)) > MAX_APPLIED else "apply"


def compact(table: str) -> str:
    """The text of a rank table without insignificant white space and byte order mark."""
    return json.dumps(json.loads(decode(table)), ensure_ascii=False, separators=(",", ":"))


def to_yaml(comment: Sequence[str], documents: Sequence[Value]) -> str:
    """The text of a manifest: a comment, and the documents with strings of several lines as blocks."""
    import yaml

    class Readable(yaml.SafeDumper):
        """YAML without anchors."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        # PyYAML preserves other line breaks in double quotes only; elsewhere they would be read as "\n".
        style = '"' if _OTHER_BREAKS & set(value) else "|" if "\n" in value else None if _WORD.fullmatch(value) else "'"
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Readable.add_representer(str, text)
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment)
    return head + str(
        yaml.dump_all(documents, Dumper=Readable, sort_keys=False, allow_unicode=True, width=1000, explicit_start=True)
    )
