"""The table of rules HK620 to HK659: the cards of this server."""

from __future__ import annotations

from hccl_kit.preflight import addresses, devices, links, mounts, processes, versions
from hccl_kit.preflight.node import NodeRule, row

DEVICE_RULES: tuple[NodeRule, ...] = (
    row("HK620", "a card of the table is not here", devices.card_missing, hccl_error="EI0014"),
    row("HK621", "a device file is missing or closed", mounts.device_file_closed),
    row("HK622", "the ids of the table are not physical", devices.ids_not_physical, hccl_error="EI0014"),
    row("HK623", "a tool of the driver is missing", mounts.tool_missing, severity="warning"),
    row("HK624", "a tool of the driver gives no answer", mounts.tool_silent),
    row("HK625", "a card is ill", devices.card_ill),
    row("HK626", "a card has a minor alarm", devices.card_with_alarm, severity="warning"),
    row("HK627", "a process is on a card", processes.card_in_use, hccl_error="EJ0001"),
    row("HK628", "a device_ip is not that of the card", addresses.address_differs, hccl_error="EI0014"),
    row("HK629", "a super_device_id is not that of the card", addresses.sdid_differs, hccl_error="EI0014"),
    row("HK630", "a network port has no link", links.link_down, hccl_error="EI0006"),
    row("HK631", "a card does not reach its network", links.network_ill, severity="warning"),
    row("HK632", "gateway or netdetect is not set", links.way_not_set, severity="warning"),
    row("HK633", "TLS is on for some cards only", links.tls_unlike, hccl_error="EI0016"),
    row("HK634", "driver or CANN is not there", versions.package_missing, severity="warning"),
    row("HK635", "driver and firmware do not go together", versions.firmware_unfit),
    row("HK636", "driver and CANN do not list each other", versions.cann_unfit, severity="warning"),
    row("HK637", "a tool of the driver stopped answering", mounts.tool_stopped_answering),
    row("HK638", "a tool of the driver cannot be used", mounts.tool_unusable, severity="warning"),
)
