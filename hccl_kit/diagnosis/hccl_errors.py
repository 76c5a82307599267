"""HCCL error codes and log messages, with their cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class KnownMessage(NamedTuple):
    """A message of HCCL that is more specific than its code.

    `pattern` is searched ignoring case. `rules` detect the error in a table, and so do the rules with `variable`; both
    are empty if only the running job can show it. `notes` are sentences for the user; their placeholders are the groups
    of the pattern and of the EI0014 message: {value}, {variable}, {expected}. A note with a missing value is omitted.
    """

    pattern: str
    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    variable: str = ""


CODES: Mapping[str, str] = {
    "EI0001": "an environment variable is not valid; with a rank table: its device addresses are of two families",
    "EI0002": "a rank timed out waiting for another in an operator. No rule of a table detects this: usually the other"
    " rank died before or runs another operator; see the earliest error of all ranks",
    "EI0003": "a parameter of an operator is not valid, or RANK_ID of the process is not a number. No rule of a table"
    " detects this: `hccl-kit preflight` compares the variables with the table (HK612)",
    "EI0004": "the rank table could not be parsed: the path, the reason, and in older releases every error of a table",
    "EI0005": "the ranks have different parameters for one operator. No rule of a table detects this: check that all"
    " ranks run the same program with the same options",
    "EI0006": "a rank timed out waiting for the connection of another: usually it died before (see the earliest error"
    " of all ranks); otherwise its network port has no link or another device_ip than the table, or the network between"
    " the servers is blocked",
    "EI0007": "the host or the card is out of memory or another resource. No rule of a table detects this: end other"
    " processes there, or reduce the batch size",
    "EI0008": "the ranks run with different releases of CANN",
    "EI0009": "a connection between two cards could not be set up; the message names both. No rule of a table detects"
    " this: see the earliest error of all ranks, usually that of the other card",
    "EI0010": "two cards of one server cannot reach each other directly (P2P), such as cards of the two halves of a"
    " server with 16; the message names them. No rule of a table detects this: use cards of one half, or set"
    " HCCL_INTRA_ROCE_ENABLE=1",
    "EI0011": "the card has not enough memory for HCCL's connections. No rule of a table detects this: end other"
    " processes on the card, or reduce the batch size",
    "EI0012": "a copy inside the card or to a card of the same server (SDMA) failed while the job ran. No rule of a"
    " table detects this: see the earliest error of all ranks, and `npu-smi info`",
    "EI0013": "packets over RoCE were lost while the job ran; the message names both ends. No rule of a table"
    " detects this: a rank died before, or the network between the cards is interrupted",
    "EI0014": "a value in the rank table is not what HCCL expects; the message names value, variable and expectation",
    "EI0015": "the rendezvous by root info failed. No rank table is used for it: either there is none, or a framework"
    " ignored it as not valid; check RANK_TABLE_FILE",
    "EI0016": "a setting differs or is not valid, such as TLS on for one card and off for another; `hccn_tool -i N -tls"
    " -g` prints it for each card. Newer releases also report it, instead of EI0014 and EI0017, for a missing key or"
    " wrong value of the ranks gathered by root info on Atlas 950, without a rank table",
    "EI0017": "a key of the rank table is missing, or its value has the wrong type",
    "EI0018": "packets over the unified bus of Atlas 950 were lost while the job ran; the message names both ends. No"
    " rule of a table detects this: a rank died before, a link is interrupted, or a card is faulty",
    "EI0019": "a port of the host is in use, by default one from 60000: end the job that uses it, or set other ports"
    " (HCCL_IF_BASE_PORT)",
    "EI0020": "a port of the card is in use, by default 16666. No rule of a table detects this: end the job that uses"
    ' it, or set another "device_port"',
    "EJ0001": "another process still uses the card, or ended less than 10 s ago; `npu-smi info` lists them",
}
"""Error code to its meaning."""

_DUPLICATE = '"IP" is repeate'
_SAME_MESSAGE = "HCCL prints the same message for a duplicate server id, super pod id and address"
_CARDS = (
    "fix: start the rank on the card of the table (DEVICE_ID, ASCEND_RT_VISIBLE_DEVICES), or write physical ids into"
    " the table: the N of /dev/davinciN, also inside a container, where programs number cards from 0"
)

KNOWN_MESSAGES: tuple[KnownMessage, ...] = (
    # Messages of EI0014.
    KnownMessage(
        r"Value [0-9]+ for ranktable variable server_count is invalid",
        ("HK207",),
        (
            'the table has "server_count": "{value}", but its server_list has another number of servers',
            'fix: write "server_count": "{expected}", or add the missing servers',
        ),
    ),
    KnownMessage(
        r"Value [0-9]+ for ranktable variable rank_id is invalid",
        ("HK201", "HK202"),
        (
            "either rank {value} is a duplicate, or the table has at most {value} devices; if the table is correct,"
            " RANK_ID={value} of the process is too high for it",
        ),
    ),
    KnownMessage(
        r"Value (?![0-9]+ for )[^\n]{0,200}? ?for ranktable variable (rank_id|server_count) is invalid",
        ("HK103",),
        ('fix: write "{variable}" in decimal digits and in quotes',),
    ),
    KnownMessage(r"ranktable variable super_device_id is invalid[. ]*Expected value: [^0-9]", ("HK103",)),
    KnownMessage(
        r"ranktable variable super_device_id is invalid[. ]*Expected value: [0-9]",
        (),
        (
            "super_device_id of the table is not the SDID of the card; no rule of a table can detect this",
            'fix: write "super_device_id": "{expected}", which is what `npu-smi info -t spod-info` prints as SDID',
        ),
    ),
    KnownMessage(
        r"variable devicePhyId is invalid",
        (),
        (
            "the process of a rank runs on another card than in the table; no rule of a table can detect this",
            "the process runs on the card with physical id {value}, the table has {expected}",
            _CARDS,
        ),
    ),
    KnownMessage('"?IP"? is repeate', (), (_SAME_MESSAGE,), _DUPLICATE),
    # Lines of the log.
    KnownMessage("is a positive integer", ("HK208",)),
    KnownMessage(
        r"is less than the communication size",
        ("HK201", "HK202"),
        ("if the table is correct, RANK_ID of the process is too high for it: HCCL prints the same message",),
    ),
    KnownMessage(r"is already exist", (), (_SAME_MESSAGE,), _DUPLICATE),
    KnownMessage(
        r"ranktable config devId ?\[(?P<table>[0-9]+)\] ?, ?but local devId ?\[(?P<local>[0-9]+)\]",
        (),
        (
            "the table has card {table} for this rank, but its process runs on card {local}; no rule of a table can"
            " detect this",
            _CARDS,
        ),
    ),
    KnownMessage(
        r"in the ranktable is inconsistent",
        (),
        (
            "device_ip of the table is not the address of the card; no rule of a table can detect this",
            "fix: write what `hccn_tool -i N -ip -g` prints for card N on that server, or set the address of the card",
        ),
    ),
    KnownMessage(
        r"device_ip.? is not set correctly",
        ("HK305", "HK306"),
        ("a job on several servers needs device_ip; a job on one server only with HCCL_INTRA_ROCE_ENABLE=1",),
    ),
    KnownMessage(r"more than [0-9]+ is invalid", ("HK204",)),
    KnownMessage(r"nic (idx size is 0|total num\[[0-9]+\] error)", ("HK405", "HK410")),
    KnownMessage(r"nic list should be the same", ("HK405",)),
    KnownMessage(r"neq first device size", ("HK304",)),
    KnownMessage(r"RankIpFamily", ("HK309",)),
    KnownMessage(
        r"Config (?P<key>[^ \n]{1,100}) is missing in the ranktable",
        ("HK101", "HK102"),
        (
            'the key "{key}" is missing, or its value has another type: versions 1.x need "0" in quotes, version 2.0'
            " needs 0 without",
        ),
    ),
    KnownMessage(
        r"Failed to parse the ranktable file",
        ("HK001", "HK002", "HK008"),
        ("older releases of CANN print this for every error of a table: `hccl-check FILE` checks all rules",),
    ),
    KnownMessage(r"not a valid \.json file", ("HK008",)),
    KnownMessage(
        r"not a valid real path",
        (),
        ("RANK_TABLE_FILE is not a file visible to this process; in a container it is a path of the container",),
    ),
)
"""A text may match several."""
