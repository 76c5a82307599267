"""HK2: counts that differ from their lists, of servers, groups or ranks.

HCCL compares the two, so either may be wrong. If the list holds more than the count, nothing of it is lost, and its
length is the one value that HCCL accepts with it: `--fix` writes that. If it holds less, it may have been cut, and a
fitted count would turn a refused table into a job of too few ranks: the user must decide.
"""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.table.bounds import LAB
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product


def server_count(table: RankTable, _product: Product) -> Iterator[Finding]:
    """`server_count` does not match the number of servers.

    What:           `server_count` differs from the length of `server_list`.
    Why it matters: HCCL compares the two.
    Example:        "server_count": "1" after a second server was added by hand.
    Fix:            add what is missing, or write the number of servers. `--fix` writes it only if the list holds more
                    than is counted: a list that holds less may have been cut.
    HCCL:           EI0014, server_count, expected the length of the list (R8).
    """
    count = len(table.servers)
    if count and table.declared_servers is not None and table.declared_servers != count:
        message = Message(
            "HK207.count",
            '"server_count" is "{declared}", but server_list holds {count}',
            declared=table.declared_servers,
            count=count,
        )
        yield _miscounted(message, ("server_count",), table.declared_servers, count)


def rank_count(table: RankTable, _product: Product) -> Iterator[Finding]:
    """`rank_count` does not match the number of ranks.

    What:           `rank_count` differs from the length of `rank_list`.
    Why it matters: HCCL compares the two.
    Example:        "rank_count": 2 after a third rank was added by hand.
    Fix:            add what is missing, or write the number of ranks. `--fix` writes it only if the list holds more
                    than is counted: a list that holds less may have been cut.
    HCCL:           EI0014, rankCount "rankCount is equal to rankSize"; older releases give no code (R34).
    """
    count = table.world_size
    if table.declared_ranks is not None and table.declared_ranks != count:
        message = Message(
            "HK224.count",
            '"rank_count" is {declared}, but rank_list holds {count}',
            declared=table.declared_ranks,
            count=count,
        )
        yield _miscounted(message, ("rank_count",), table.declared_ranks, count, is_text=False)


def wrong_count(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A declared count does not match its list.

    What:           `group_count`, `instance_count`, `device_count` (lab: `device_num`) or `server_num` differs from
                    what the lists hold: groups, instances, their devices, the servers that these are on.
    Why it matters: HCCL compares each of them and rejects zero.
    Example:        "instance_count": "0" over a list of one pod.
    Fix:            add what is missing, or write the number that the finding names. `--fix` writes it only if the lists
                    hold more than is counted: a list that holds less may have been cut.
    HCCL:           no code, the log only; a wrong server_num may end in EI0014, DeviceNum of server Id X (R23).
    """
    if table.groups and table.declared_groups != len(table.groups):
        yield _wrong_count(("group_count",), "group_list", table.declared_groups or 0, len(table.groups))
    is_lab = LAB in table.extra
    for g, group in enumerate(table.groups):
        at: Pointer = ("group_list", g)
        sizes = [len(instance.devices) for instance in group.instances]
        if sizes and group.declared_instances != len(sizes):
            yield _wrong_count((*at, "instance_count"), "instance_list", group.declared_instances, len(sizes))
        # If HK221 or HK230 reports, it is unclear how many devices are meant.
        can_tell = sizes and min(sizes) > 0 and not (is_lab and max(sizes) > 1)
        if can_tell and group.declared_devices != sum(sizes):
            key = "device_num" if is_lab else "device_count"
            declared, count = group.declared_devices, sum(sizes)
            message = Message(
                "HK220.devices",
                '"{key}" is "{declared}", but the instances hold {count} devices',
                key=key,
                declared=declared,
                count=count,
            )
            yield _miscounted(message, (*at, key), declared, count)
    yield from _wrong_servers(table)


def _wrong_count(at: Pointer, name: str, declared: int, count: int) -> Finding:
    message = Message(
        "HK220.list",
        '"{key}" is "{declared}", but {list} holds {count}',
        key=at[-1],
        declared=declared,
        list=name,
        count=count,
    )
    return _miscounted(message, at, declared, count)


def _wrong_servers(table: RankTable) -> Iterator[Finding]:
    """The findings on `server_num`. A count is not compared if servers have different numbers of devices.

    HK401 and HK404 report those, and the cause may be a wrong server id.
    """
    are_equal = len({len(server.devices) for server in table.servers}) == 1
    counted: set[str] = set()
    for g, group in enumerate(table.groups if LAB in table.extra else ()):
        servers = {instance.server for instance in group.instances}
        declared, at = group.declared_servers or 0, ("group_list", g, "server_num")
        twice = sorted(servers & counted)
        if servers and declared != len(servers) and (are_equal or not declared):
            message = Message(
                "HK220.servers",
                '"server_num" is "{declared}", but the instances name {count} servers',
                declared=declared,
                count=len(servers),
            )
            yield _miscounted(message, at, declared, len(servers))
        elif twice:
            message = Message(
                "HK220.counted-twice",
                '"server_num" counts server {server}, and so does that of an earlier group',
                server=shown(twice[0]),
            )
            hint = Message("HK220.fix", "HCCL adds the numbers up: list all ranks of a server in one group")
            yield Finding(message, hint, pointer=at)
        counted |= servers


def _miscounted(message: Message, at: Pointer, declared: int, count: int, *, is_text: bool = True) -> Finding:
    """The finding at the key `at[-1]`; `is_text`: the count is written in quotes."""
    right = f'"{count}"' if is_text else str(count)
    if declared > count:
        hint = Message(
            "check.count-or-list.fix",
            'add what is missing; if nothing is missing, write "{key}": {count}',
            key=at[-1],
            count=right,
        )
        return Finding(message, hint, pointer=at)
    hint = Message("check.count.fix", 'write "{key}": {count}', key=at[-1], count=right)
    return Finding(message, hint, pointer=at, fix=(Edit(at, right),))


RULES = (
    Rule("HK207", "server-count-mismatch", server_count, hccl_error="EI0014", variables=("server_count",)),
    Rule("HK220", "count-mismatch", wrong_count, kinds=("template2",)),
    Rule("HK224", "rank-count-mismatch", rank_count, hccl_error="EI0014", variables=("rankCount",), kinds=("2.0",)),
)
