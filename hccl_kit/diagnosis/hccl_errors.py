"""What HCCL says when a rank table stops a job, and what is meant: its error codes, and the lines of its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class KnownMessage(NamedTuple):
    """A text of HCCL that tells more than its code.

    `pattern` is searched for in any case. `rules` find the fault in a table, and so do those that have `variable`;
    none do where only the running job can show it. `told` are sentences for a person, whose blanks are the groups of
    the pattern and of the sentence of EI0014: {value}, {variable}, {expected}; one with an empty blank is left out.
    """

    pattern: str
    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    variable: str = ""


CODES: Mapping[str, str] = {
    "EI0001": "an environment variable has a bad value; of a rank table: its device addresses are of two families",
    "EI0002": "a rank waited in vain for another in the middle of an operator. No rule of a table leads there: mostly"
    " the other one died before or runs another operator; look at the first error in time, over all ranks",
    "EI0003": "a parameter of an operator is bad; also where RANK_ID of the process is no number. No rule of a table"
    " leads there: `hccl-kit preflight` compares the variables with the table (HK612)",
    "EI0004": "the rank table could not be parsed: the path, the reason, and in older releases every fault of a table",
    "EI0005": "the ranks disagree in a parameter of one operator. No rule of a table leads there: compare how the ranks"
    " were started, and whether all run the same program",
    "EI0006": "a rank waited in vain for the connection of another: as a rule one that died before (look at the first"
    " error in time, over all ranks), else one whose network port has no link or another device_ip than the table, or a"
    " network that is shut between the servers",
    "EI0007": "the host or the card is out of memory or of another resource. No rule of a table leads there: end other"
    " processes there, or give the job smaller batches",
    "EI0008": "the ranks run with different releases of CANN",
    "EI0009": "a connection between two cards could not be set up; the message names both. No rule of a table leads"
    " there: look at the first error in time, over all ranks, mostly that of the other end",
    "EI0010": "two cards of one server cannot reach each other directly (P2P), such as cards of the two halves of a"
    " server with 16; the message names them. No rule of a table leads there: take cards of one half, or set"
    " HCCL_INTRA_ROCE_ENABLE=1",
    "EI0011": "the memory of the card is not enough for HCCL's connections. No rule of a table leads there: end other"
    " processes on the card, or give the job smaller batches",
    "EI0012": "a copy inside the card or to a card of the same server (SDMA) failed while the job ran. No rule of a"
    " table leads there: look at the first error in time, over all ranks, and at `npu-smi info`",
    "EI0013": "packets over RoCE were lost while the job ran; the message names both ends. No rule of a table leads"
    " there: a rank that died before, or a network between the cards that is interrupted",
    "EI0014": "a value in the rank table is not what HCCL expects: it names value, variable and expectation",
    "EI0015": "the ranks did not find each other by root info. No rank table takes part in that: either there is none,"
    " or a framework took it for unusable and went on without; look at RANK_TABLE_FILE",
    "EI0016": "a setting differs or is bad, such as TLS on for one card and off for another; `hccn_tool -i N -tls -g`"
    " tells for each card. Newer releases also give it, in place of EI0014 and EI0017, for a missing key or a bad value"
    " of the ranks that they gather by root info on Atlas 950; a rank table takes no part in that",
    "EI0017": "HCCL misses a key of the rank table; it says the same of a key whose value has the wrong type",
    "EI0018": "packets over the unified bus of Atlas 950 were lost while the job ran; the message names both ends. No"
    " rule of a table leads there: a rank that died before, a link that is interrupted, or a faulty card",
    "EI0019": "a port of the host is taken, one from 60000 on as a rule: end the job that holds it, or give other ports"
    " (HCCL_IF_BASE_PORT)",
    "EI0020": "a port of the card is taken, 16666 as a rule. No rule of a table leads there: end the job that holds it,"
    ' or give another "device_port"',
    "EJ0001": "another process is still on the card, or ended less than 10 s ago; `npu-smi info` lists them",
}
"""Error code to its meaning."""

_DOUBLED = '"IP" is repeate'
_SAME_WORDS = "HCCL has the same words for a doubled server id, super pod id and address"
_CARDS = (
    "fix: start the rank on the card of the table (DEVICE_ID, ASCEND_RT_VISIBLE_DEVICES), or write physical ids into"
    " the table: the N of /dev/davinciN, also inside a container, where programs count from 0"
)

KNOWN_MESSAGES: tuple[KnownMessage, ...] = (
    # Sentences of EI0014.
    KnownMessage(
        r"Value [0-9]+ for ranktable variable server_count is invalid",
        ("HK207",),
        (
            'the table says "server_count": "{value}", and its server_list holds another number of servers',
            'fix: write "server_count": "{expected}", or add the servers that are missing',
        ),
    ),
    KnownMessage(
        r"Value [0-9]+ for ranktable variable rank_id is invalid",
        ("HK201", "HK202"),
        (
            "either the table holds rank {value} twice, or it has not more than {value} devices; where the table is"
            " right, RANK_ID of the process is {value} and too high for it",
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
            "super_device_id of the table is not the SDID of the card; no rule of a table can see that",
            'fix: write "super_device_id": "{expected}", which is what `npu-smi info -t spod-info` prints as SDID',
        ),
    ),
    KnownMessage(
        r"variable devicePhyId is invalid",
        (),
        (
            "the process of a rank runs on another card than the one the table gives the rank; no rule of a table can"
            " see that",
            "mind the order: the process runs on the card with physical id {value}, the table has {expected}",
            _CARDS,
        ),
    ),
    KnownMessage('"?IP"? is repeate', (), (_SAME_WORDS,), _DOUBLED),
    # Lines of the log.
    KnownMessage("is a positive integer", ("HK208",)),
    KnownMessage(
        r"is less than the communication size",
        ("HK201", "HK202"),
        ("where the table is right, RANK_ID of the process is too high for it: HCCL has the same words for that",),
    ),
    KnownMessage(r"is already exist", (), (_SAME_WORDS,), _DOUBLED),
    KnownMessage(
        r"ranktable config devId ?\[(?P<table>[0-9]+)\] ?, ?but local devId ?\[(?P<local>[0-9]+)\]",
        (),
        (
            "the table gives this rank the card {table}, and its process runs on card {local}; no rule of a table can"
            " see that",
            _CARDS,
        ),
    ),
    KnownMessage(
        r"in the ranktable is inconsistent",
        (),
        (
            "device_ip of the table is not the address that the card has; no rule of a table can see that",
            "fix: write what `hccn_tool -i N -ip -g` prints for card N on that server, or set the address of the card",
        ),
    ),
    KnownMessage(
        r"device_ip.? is not set correctly",
        ("HK305", "HK306"),
        ("a job of several servers needs device_ip; a job of one server only with HCCL_INTRA_ROCE_ENABLE=1",),
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
            'the key "{key}" is missing, or its value has another type: versions 1.x want "0" in quotes, version 2.0'
            " wants 0 without",
        ),
    ),
    KnownMessage(
        r"Failed to parse the ranktable file",
        ("HK001", "HK002", "HK008"),
        ("older releases of CANN say this of every fault of a table: `hccl-check FILE` holds it to all rules",),
    ),
    KnownMessage(r"not a valid \.json file", ("HK008",)),
    KnownMessage(
        r"not a valid real path",
        (),
        ("RANK_TABLE_FILE names no file that this process can see; in a container it is a path of the container",),
    ),
)
"""Every one that is found in a text counts."""
