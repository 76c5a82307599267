"""The proof that a document is a valid table, by its version; for every document that is not certainly one, None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hccl_kit.check.quick.plain import DOUBTS, Counted, Proven, UnprovenError, read, require
from hccl_kit.check.result import Content, Report
from hccl_kit.table.products import ANY_PRODUCT, Product, any_product, find_product
from hccl_kit.table.source import HCCL_MAX_BYTES, is_name_for_hccl

if TYPE_CHECKING:
    from hccl_kit.table.formats.kinds import Kind
    from hccl_kit.table.model import RankTable

_GROUPS, _GROUPS_NAME = "", "template2"
"""Template 2 has no version."""
_PRODUCTS = {"1.0": "", "1.2": "a3", "2.0": "a5", _GROUPS: "910"}
"""The version of a table and the only product that reads it; "" if several do."""
_NAMES = {
    "1.0": frozenset(("version", "status", "server_count", "server_list")),
    "1.2": frozenset(("version", "status", "server_count", "server_list", "super_pod_list")),
    "2.0": frozenset(("version", "status", "rank_count", "rank_list", "detour")),
}
"""The keys of tables whose kind is certain; with others, `kinds.recognise` decides."""


def valid(data: bytes | str, name: str, product: Product | None) -> Report | None:
    """The report of `check_text` on a table that is certainly valid; None if it may not be.

    Its only finding can be that the file is too large for HCCL.
    """
    try:
        return _valid(data, name, product)
    except DOUBTS:
        return None


def _valid(data: bytes | str, name: str, product: Product | None) -> Report:
    require(is_name_for_hccl(name), product is None or product.prefix is None)
    value, colons = read(data)
    version = _version(value)
    basis = product or (find_product(_PRODUCTS[version]) if _PRODUCTS[version] else any_product())
    require(version in basis.table_versions)
    require(version == "2.0" or value["status"] == "completed")
    require(version == _GROUPS or value.keys() <= _NAMES[version] or _is_known(value, version))
    counted = Counted()
    servers, devices, columns = _prover(version)(value, basis, counted)
    counted.require_unique_keys(colons)
    report = Report(
        name=name,
        format=version or _GROUPS_NAME,
        product=basis.name,
        findings=(),
        content=Content(servers, devices, lambda: table_of(value), value, columns),
        is_assumed=product is None and basis.name != ANY_PRODUCT,
    )
    if len(data) <= HCCL_MAX_BYTES or version == "2.0":
        return report
    from hccl_kit.check.exact import too_large  # noqa: PLC0415 - it loads all rules

    return report._replace(findings=(too_large(_kind(value)),))


def _version(value: object) -> str:
    """The version of a table, a key of _PRODUCTS."""
    version = str(value.get("version", _GROUPS)) if isinstance(value, dict) else ""
    if not isinstance(value, dict) or version not in _PRODUCTS or (version == _GROUPS and "version" in value):
        raise UnprovenError
    return version


def _prover(version: str) -> Callable[[Mapping[str, Any], Product, Counted], Proven]:
    """The proof for a version. It is imported on use, so the proofs of other versions are not loaded."""
    if version == "2.0":
        from hccl_kit.check.quick import ranks  # noqa: PLC0415 - see above

        return ranks.prove
    if version == _GROUPS:
        from hccl_kit.check.quick import groups  # noqa: PLC0415 - see above

        return groups.prove
    from hccl_kit.check.quick import servers  # noqa: PLC0415 - see above

    return servers.prove


def _kind(value: object) -> Kind:
    from hccl_kit.table.formats import kinds  # noqa: PLC0415 - it loads all formats

    kind = kinds.recognise(value)
    if kind is None:
        raise UnprovenError
    return kind


def _is_known(value: Mapping[str, Any], version: str) -> bool:
    """Whether a table with other keys too is of the kind that its version names."""
    return _kind(value).version == version


def table_of(value: Mapping[str, Any]) -> RankTable:
    """The table in a value that was proven valid."""
    from hccl_kit.table import formats  # noqa: PLC0415 - only for callers that need the devices

    return formats.READERS[_version(value)](value)
