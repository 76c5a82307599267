"""Rows of `name : value`."""

from hccl_kit.discovery.npu_smi_rows import parse
from tests.preflight.samples import sample


def test_rows_are_read_and_the_first_of_two_names_counts() -> None:
    found = parse(sample("a2/npu-smi-board.txt") + "\tFirmware Version               : NA\r\n")
    assert (found["Software Version"], found["Firmware Version"]) == ("24.1.1", "7.5.0.5.220")
    assert (found["Compatibility"], found["PCIe Bus Info"]) == ("OK", "0000:61:00.0")


def test_a_complaint_has_no_rows() -> None:
    assert parse("This device does not support querying board.\n") == {}
