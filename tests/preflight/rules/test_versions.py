"""Driver, firmware and CANN are compatible according to their own declarations."""

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.rules.versions import cann_unfit, firmware_unfit, package_missing
from tests.preflight.machines import Machine
from tests.preflight.nodes import faults, messages

DRIVER = "usr/local/Ascend/driver/version.info"
FIRMWARE = "usr/local/Ascend/firmware/version.info"
CANN = "usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info"


def test_missing_packages_are_reported(machine: Machine) -> None:
    for name in (DRIVER, CANN):
        (machine.root / name).unlink()
    assert messages(package_missing, machine.node()) == [
        "the driver version cannot be read: there is no driver/version.info",
        "no CANN found at ASCEND_HOME_PATH or in /usr/local/Ascend",
    ]


def test_the_result_of_npu_smi_takes_precedence(machine: Machine) -> None:
    machine.change("board.3", ": OK", ": NOK")
    (found,) = faults(firmware_unfit, machine.node())
    assert found.message == ("card 3: npu-smi reports driver 24.1.1 and firmware 7.5.0.5.220 as not compatible")
    machine.change("board.3", ": NOK", ": OK")
    machine.file(FIRMWARE, "Version=1.0\n")
    assert messages(firmware_unfit, machine.node()) == []


@pytest.mark.parametrize("verdict", ["UNKNOWN", "NOT SUPPORT", "NA"])
def test_without_a_result_of_npu_smi_the_ranges_of_the_driver_are_used(machine: Machine, verdict: str) -> None:
    for npu in range(8):
        machine.change(f"board.{npu}", ": OK", f": {verdict}")
    assert messages(firmware_unfit, machine.node()) == []
    machine.file(FIRMWARE, "Version=7.7.0.1.231\n")
    assert messages(firmware_unfit, machine.node()) == [
        "driver 24.1.rc3 supports firmware 6.4.0 to 6.4.99 and 7.0.0 to 7.5.99, and 7.7.0.1.231 is installed"
    ]
    (machine.root / FIRMWARE).unlink()
    with pytest.raises(CannotTellError, match="neither npu-smi nor a"):
        messages(firmware_unfit, machine.node())


def test_without_npu_smi_the_ranges_of_the_driver_are_used(machine: Machine) -> None:
    machine.without_tools()
    machine.file(FIRMWARE, "Version=7.7.0.1.231\n")
    assert len(messages(firmware_unfit, machine.node())) == 1


def test_a_card_with_another_firmware_than_the_others_is_named(a3: Machine) -> None:
    a3.change("board.5", "7.5.0.5.220", "7.1.0.5.220")
    assert messages(firmware_unfit, a3.node()) == [
        "cards 10 to 11: its firmware is 7.1.0.5.220, and 7.5.0.5.220 on the other cards"
    ]


def test_one_declaration_of_compatibility_is_sufficient(machine: Machine) -> None:
    assert messages(cann_unfit, machine.node()) == []
    machine.file(CANN, "version=7.0.0\ninnerversion=V100R001C15SPC001\n")  # the driver is newer, and lists it
    assert messages(cann_unfit, machine.node()) == []
    machine.file(CANN, "version=9.0.0\ninnerversion=V100R001C30SPC001\ncompatible_version=[V100R001C25]\n")
    assert messages(cann_unfit, machine.node()) == [
        "driver 24.1.rc3 (V100R001C19) and CANN 9.0.0 (V100R001C30) do not declare each other compatible"
    ]


@pytest.mark.parametrize("text", ["version=9.0.0\n", "", "version=9.0.0\ninnerversion=unknown\n"])
def test_without_declarations_the_check_is_skipped(machine: Machine, text: str) -> None:
    machine.file(CANN, text)
    with pytest.raises(CannotTellError, match="driver and CANN do not declare compatible releases"):
        messages(cann_unfit, machine.node())
