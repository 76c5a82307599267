"""The table of rules HK6: the host's, then the cards'. An id is never used twice."""

from __future__ import annotations

from hccl_kit.preflight.node import NodeRule, row
from hccl_kit.preflight.rules import (
    card_addresses,
    card_health,
    card_links,
    driver_access,
    host_address,
    identity,
    limits,
    ports,
    processes,
    table_file,
    variables,
    versions,
)

HOST_RULES: tuple[NodeRule, ...] = (
    row("HK600", "this machine is no server of the table, or several", identity.not_a_server),
    row("HK601", "HCCL does not take the path of the table", table_file.path_not_taken, hccl_error="EI0004"),
    row("HK602", "torch_npu would go on without the table", table_file.passed_over, severity="warning"),
    row("HK603", "a variable names another table", table_file.another_table, severity="warning"),
    row("HK604", "a port of the host that HCCL needs is taken", ports.port_taken, hccl_error="EI0019"),
    row("HK605", "the system may give the ports of HCCL away", ports.ports_given_away, severity="warning"),
    row("HK606", "HCCL does not accept the value of a variable", variables.value_illegal, hccl_error="EI0001"),
    row("HK607", "variables contradict each other", variables.variables_contradict, hccl_error="EI0001"),
    row("HK608", "a variable of another launcher is set", variables.of_another_launcher, severity="warning"),
    row("HK609", "ASCEND_RT_VISIBLE_DEVICES hides cards", variables.visible_devices, hccl_error="EI0014"),
    row("HK610", "the variables name no interface of this machine", host_address.no_interface, hccl_error="EI0001"),
    row(
        "HK611",
        "HCCL will take another interface than the table names",
        host_address.another_interface,
        severity="warning",
    ),
    row("HK612", "rank or card of this process are not those of the table", identity.wrong_rank, hccl_error="EI0014"),
    row("HK613", "a limit of this system is low", limits.too_little, severity="warning"),
    row("HK614", "there is little disk for logs", limits.disk_full, severity="warning"),
)

CARD_RULES: tuple[NodeRule, ...] = (
    row("HK620", "a card of the table is not here", card_health.card_missing, hccl_error="EI0014"),
    row("HK621", "a device file is missing or closed", driver_access.device_file_closed),
    row("HK622", "the ids of the table are not physical", card_health.ids_not_physical, hccl_error="EI0014"),
    row("HK623", "a tool of the driver is missing", driver_access.tool_missing, severity="warning"),
    row("HK624", "a tool of the driver gives no answer", driver_access.tool_silent),
    row("HK625", "a card is ill", card_health.card_ill),
    row("HK626", "a card has a minor alarm", card_health.card_with_alarm, severity="warning"),
    row("HK627", "a process is on a card", processes.card_in_use, hccl_error="EJ0001"),
    row("HK628", "a device_ip is not that of the card", card_addresses.address_differs, hccl_error="EI0014"),
    row("HK629", "a super_device_id is not that of the card", card_addresses.sdid_differs, hccl_error="EI0014"),
    row("HK630", "a network port has no link", card_links.link_down, hccl_error="EI0006"),
    row("HK631", "a card does not reach its network", card_links.network_ill, severity="warning"),
    row("HK632", "gateway or netdetect is not set", card_links.way_not_set, severity="warning"),
    row("HK633", "TLS is on for some cards only", card_links.tls_unlike, hccl_error="EI0016"),
    row("HK634", "driver or CANN is not there", versions.package_missing, severity="warning"),
    row("HK635", "driver and firmware do not go together", versions.firmware_unfit),
    row("HK636", "driver and CANN do not list each other", versions.cann_unfit, severity="warning"),
    row("HK637", "a tool of the driver stopped answering", driver_access.tool_stopped_answering),
    row("HK638", "a tool of the driver cannot be used", driver_access.tool_unusable, severity="warning"),
)

NODE_RULES: tuple[NodeRule, ...] = (*HOST_RULES, *CARD_RULES)
