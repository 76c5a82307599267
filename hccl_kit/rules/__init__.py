"""The table of rules. An id is never used twice, and a retired one never again.

HK0 text, HK1 structure and kind, HK2 identity, HK3 network, HK4 topology. Rules without a check are enforced by the
readers (`document`, `schema`, `formats`), which name them in their faults.
"""

from __future__ import annotations

from hccl_kit.finding import Rule
from hccl_kit.rules import addresses, identity, ports, ranks, status, topology

ANY_PRODUCT = "auto"
"""The name under which `by_product` says what holds as long as no product is named."""

RULES: tuple[Rule, ...] = (
    Rule("HK001", "the text is not JSON", "EI0004"),
    Rule("HK002", "the text is not UTF-8", "EI0004"),
    Rule("HK003", "the file starts with a byte order mark", severity="warning"),
    Rule("HK004", "a key is given twice in one object"),
    Rule("HK005", "brackets are nested too deeply"),
    Rule("HK006", "a number is too large"),
    Rule("HK007", "the file is larger than HCCL reads"),
    Rule("HK008", 'the path is not one with ".json" at its end only', severity="warning"),
    Rule("HK101", "a required key is missing", "EI0017"),
    Rule("HK102", "a value has another type", "EI0017"),
    Rule("HK103", "a rank or count is no number", "EI0014"),
    Rule("HK104", "a device id is no number"),
    Rule("HK105", "the document is no rank table of HCCL", "EI0017"),
    Rule("HK106", "the document is a rank table that this release does not judge"),
    Rule("HK107", "nobody knows this version", "EI0014"),
    Rule("HK108", "the product does not read this version", "EI0014"),
    Rule("HK109", "the table is not ready yet", severity="warning"),
    Rule("HK110", "the status is unknown", check=status.unknown_status),
    Rule("HK201", "a rank is taken twice", "EI0014", check=ranks.rank_taken),
    Rule("HK202", "a rank is not below the number of devices", "EI0014", check=ranks.rank_outside),
    Rule("HK203", "a server names one device twice", "EI0014", check=identity.device_twice),
    Rule("HK204", "a device id is higher than the product has", check=identity.device_beyond),
    Rule("HK205", "two servers have one id", "EI0014", check=identity.server_twice),
    Rule("HK206", "a server id is empty or too long", check=identity.server_id_length),
    Rule("HK207", "server_count is not the number of servers", "EI0014", check=identity.server_count),
    Rule("HK208", "there is no server, or a server without device", "EI0014", check=identity.empty_list),
    Rule("HK209", "a loopback address names one of several servers", check=identity.loopback_among_servers),
    Rule("HK210", "a loopback address names the only server", severity="note", check=identity.loopback_alone),
    Rule("HK301", "a device address is none", "EI0014", check=addresses.device_ip_invalid),
    Rule("HK302", "two devices have one address", "EI0014", check=addresses.device_ip_twice),
    Rule("HK303", "two devices have one address in two spellings", check=addresses.device_ip_respelled),
    Rule("HK304", "a device has more or fewer addresses than the others", check=addresses.device_ip_count),
    Rule(
        "HK305",
        "several servers, and a device has no address",
        "EI0014",
        by_product={"a3": "warning"},  # its parser asks for none (R13)
        check=addresses.device_ip_absent,
    ),
    Rule(
        "HK306",
        "several servers, and the address of a device is empty",
        "EI0014",
        # Only the parser of A2 looks (R13).
        by_product={"910": "warning", "a3": "warning", "300i-duo": "warning", ANY_PRODUCT: "warning"},
        check=addresses.device_ip_empty,
    ),
    Rule("HK307", "a host address is none", "EI0014", check=addresses.host_ip_invalid),
    Rule("HK308", "a port is none", check=ports.port_invalid),
    Rule("HK309", "device addresses of two families", "EI0001", check=addresses.device_ip_families),
    Rule("HK310", "host addresses of two families", "EI0014", check=addresses.host_ip_families),
    Rule(
        "HK401",
        "a server brings a number of cards that the product cannot link",
        "EI0014",
        by_product={"a2": "warning", "a2-box16": "warning"},  # documented, not enforced
        check=topology.card_count,
    ),
    Rule("HK402", "cards lie across the groups", severity="warning", check=topology.cards_across_groups),
    Rule("HK403", "four cards form no ring", "EI0014", check=topology.cards_unlinked),
    Rule("HK404", "servers bring different numbers of cards", "EI0014", check=topology.unequal_servers),
)

RULE_BY_ID = {rule.id: rule for rule in RULES}
