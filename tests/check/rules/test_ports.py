"""Which ports are read, and their valid values."""

import json
from typing import Any

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.table.products import find_product
from tests.tables import value


def test_a_port_is_checked_only_if_hccl_reads_it() -> None:
    for keys, product, expected in (
        ({"device_port": "16666"}, "a2", []),
        ({"device_port": "0"}, "a2", ["HK308"]),
        ({"device_port": "65536"}, "a2", ["HK308"]),
        ({"device_port": "1.2"}, "a2", ["HK308"]),
        ({"host_port": ""}, "a2", ["HK308"]),
        ({"device_vnic_port": "x"}, "a2", []),  # not read without device_port
        ({"device_vnic_port": "x", "device_port": "1"}, "a2", ["HK308"]),
        ({"backup_device_port": "x"}, "a3", []),
        ({"backup_device_port": "x", "backup_device_ip": "192.168.101.1"}, "a3", ["HK308"]),
        ({"backup_device_port": "x", "backup_device_ip": "192.168.101.1"}, "a2", []),
    ):
        table: Any = value(1, 2)
        table["server_list"][0]["device"][0] |= keys
        report = check_text(json.dumps(table), "t.json", find_product(product))
        assert [found.rule for found in report.findings] == expected, (keys, product)


@pytest.mark.parametrize("port", ["1.2", "+5", "3x"])
def test_a_port_that_hccl_parses_as_another_number_has_no_code(port: str) -> None:
    table: Any = value(1, 2)
    table["server_list"][0]["device"][0]["device_port"] = port
    (found,) = check_text(json.dumps(table), "t.json").findings
    assert (found.rule, found.hccl_error) == ("HK308", None)
