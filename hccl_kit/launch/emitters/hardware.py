"""The cards of each product in Kubernetes: their resource, and how MindCluster calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import row


class Hardware(NamedTuple):
    """The resource of the cards; in MindCluster also the value of RING_LABEL and the node label `accelerator-type`."""

    resource: str
    ring: str | None = None
    accelerator: str | None = None


RESOURCE = "huawei.com/Ascend910"
"""The cards where no product is known."""
HARDWARE: Mapping[str, Hardware] = {
    "910": Hardware("huawei.com/Ascend910", "ascend-910", "module"),
    "a2": Hardware("huawei.com/Ascend910", "ascend-910b", "module-910b-8"),
    "a2-box16": Hardware("huawei.com/Ascend910", "ascend-910b", "module-910b-16"),
    "a3": Hardware("huawei.com/Ascend910", "ascend-910b", "module-a3-16"),
    "300i-duo": Hardware("huawei.com/Ascend310P", "ascend-310P", None),
}
"""By product. Source: MindCluster 7.3, scheduling user guide, parameters of the YAML files."""


def hardware_of(product: str | None) -> Hardware:
    """The cards of a product in MindCluster. Raises KitError if it is None, or not known there."""
    accepted = row(HARDWARE)
    if product is None:
        raise KitError(
            "launch.kubernetes.product-missing",
            "the product is missing: it decides which cards the pods ask for, and on which nodes they run",
            fix="--product NAME; accepted: {accepted}",
            accepted=accepted,
        )
    if product not in HARDWARE:
        raise KitError(
            "launch.kubernetes.product-no-known",
            "product {product!r} has no known resource in Kubernetes; accepted: {accepted}",
            product=product,
            accepted=accepted,
        )
    return HARDWARE[product]
