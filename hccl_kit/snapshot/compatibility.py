"""Which versions their makers published as pairs: torch_npu with CANN, and CANN with the driver.

What is in no list, or newer than all of it, is not judged. Releases of Atlas 350, 850 and 950 have other numbers, so
their drivers are not either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.discovery.installation import ABSENT
from hccl_kit.preflight.machine import Machine
from hccl_kit.table.products import product_of_chip

TORCH_NPU_SOURCE = "COMPATIBILITY of torch_npu, 2026-08"
TORCH_NPU: Mapping[str, tuple[str, ...]] = {
    "9.1.0": ("2.12.0", "2.11.0", "2.10.0.post4", "2.9.0.post6", "2.7.1.post8"),
    "9.0.0": ("2.9.0.post2", "2.8.0.post4", "2.7.1.post4"),
    "8.5.0": ("2.9.0", "2.8.0.post2", "2.7.1.post2", "2.6.0.post5"),
    "8.3.RC1": ("2.8.0", "2.7.1", "2.6.0.post3", "2.1.0.post17"),
    "8.2.RC1": ("2.6.0", "2.5.1.post1", "2.1.0.post13"),
    "8.1.RC1": ("2.5.1", "2.4.0.post4", "2.3.1.post6", "2.1.0.post12"),
    "8.0.0": ("2.4.0.post2", "2.3.1.post4", "2.1.0.post10"),
    "8.0.RC3": ("2.4.0", "2.3.1.post2", "2.1.0.post8"),
    "8.0.RC2": ("2.3.1", "2.2.0.post2", "2.1.0.post6", "1.11.0.post14"),
    "8.0.RC1": ("2.2.0", "2.1.0.post4", "1.11.0.post11"),
    "7.0.0": ("2.1.0", "2.0.1.post1", "1.11.0.post8"),
    "7.0.RC1": ("2.1.0.rc1", "2.0.1", "1.11.0.post4"),
    "6.3.RC2": ("2.0.1.rc1", "1.11.0.post1", "1.8.1.post2"),
}
"""The versions of torch_npu by that of CANN."""
INTERCHANGEABLE = ("8.3.RC1", "8.2.RC1", "8.1.RC1", "8.0.0", "8.0.RC3", "8.0.RC2")
"""Adapters 6.0.0 to 7.2.0, which are those for these, work with each of them (PyTorch 7.2.0 note of hiascend)."""
DRIVER_SOURCE = "release note of CANN 9.1.0, 2026"
DRIVERS: Mapping[str, tuple[str, ...]] = {
    "9.1": ("25.2", "25.3", "25.5", "25.7", "26.0", "26.1"),
    "9.0": ("25.0", "25.2", "25.3", "25.5", "25.7", "26.0", "26.1"),
    "8.5.2": ("25.0", "25.2", "25.3", "25.5", "25.7", "26.0", "26.1"),
    "8.5.0": ("25.0", "25.2", "25.3", "25.5"),
}
"""The beginnings of the versions of drivers by the beginning of the version of CANN."""
_NUMBERS = re.compile(r"([0-9]{2}\.[0-9]{1,2})(?:\.|$)")
_OTHER_NUMBERS = "a5"


def doubts(machine: Machine) -> Iterator[Message]:
    """The pairs of this machine that are not published, each with what is published."""
    installed = {name: version for name, version in machine.versions.items() if version != ABSENT}
    cann = installed.get("cann", "").upper()
    adapter = installed.get("torch_npu", "").partition("+")[0]
    if adapter and "torch" in installed:
        yield from _torch_doubts(adapter, installed["torch"].partition("+")[0])
    if adapter and cann:
        yield from _adapter_doubts(adapter, cann)
    products = {product_of_chip(card.get("chip", "")) for card in machine.cards.values()}
    if cann and "driver" in installed and products and not products & {None, _OTHER_NUMBERS}:
        yield from _driver_doubts(installed["driver"], cann)


def _torch_doubts(adapter: str, torch: str) -> Iterator[Message]:
    wanted = re.split(r"\.(?:post|rc|dev)|rc", adapter)[0]
    if torch != wanted:
        yield Message(
            "snapshot.torch",
            "torch_npu {adapter} is published for torch {wanted}, and torch {torch} is installed ({source})",
            adapter=adapter,
            wanted=wanted,
            torch=torch,
            source=TORCH_NPU_SOURCE,
        )


def _adapter_doubts(adapter: str, cann: str) -> Iterator[Message]:
    releases = [release for release, adapters in TORCH_NPU.items() if adapter in adapters]
    is_published = cann in releases or (cann in INTERCHANGEABLE and {*releases} & {*INTERCHANGEABLE})
    if releases and cann in TORCH_NPU and not is_published:
        yield Message(
            "snapshot.torch-npu",
            "torch_npu {adapter} is published for CANN {releases}, and CANN {cann} is installed, for which {adapters} "
            "is published ({source})",
            adapter=adapter,
            releases=joined(releases),
            cann=cann,
            adapters=joined(TORCH_NPU[cann], "or"),
            source=TORCH_NPU_SOURCE,
        )


def _driver_doubts(driver: str, cann: str) -> Iterator[Message]:
    published = next((drivers for release, drivers in DRIVERS.items() if f"{cann}.".startswith(f"{release}.")), ())
    numbers = _NUMBERS.match(driver)
    if not (published and numbers) or _ordered(numbers[1]) > max(map(_ordered, published)):
        return
    if numbers[1] not in published:
        yield Message(
            "snapshot.driver",
            "driver {driver} is not published for CANN {cann}; published: {drivers} ({source})",
            driver=driver,
            cann=cann,
            drivers=joined(published, "or"),
            source=DRIVER_SOURCE,
        )


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
