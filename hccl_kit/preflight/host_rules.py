"""The table of rules HK600 to HK614: the host side of this node.

HK615 to HK619, HK660 and HK661 compare the nodes, see `across`.
"""

from __future__ import annotations

from hccl_kit.preflight import host_address, identity, limits, ports, table_file, variables
from hccl_kit.preflight.node import NodeRule, row

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
