"""The super pods of version 1.2: which server is in which. HCCL reads them on Atlas A3 only (R31)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hccl_kit.base.message import Message
from hccl_kit.base.network import is_loopback
from hccl_kit.check.rule import DUPLICATE, Rule, first_defined, repeated
from hccl_kit.table.bounds import MAX_NAME, bytes_of
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, Related
from hccl_kit.table.model import RankTable, SuperPod
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product


def pods_read(table: RankTable, product: Product) -> tuple[SuperPod, ...]:
    """The super pods of the table, as far as HCCL of the product reads them."""
    return (table.super_pods or ()) if product.has_super_pods else ()


def pods_unread(_table: RankTable, product: Product) -> Iterator[Finding]:
    """A table of version 1.2 is for a product without super pods.

    What:           `version` is "1.2", and the product named has no super pods.
    Why it matters: HCCL skips `super_pod_list` there, so what it says has no effect.
    Example:        a table made on Atlas A3, checked with --product a2.
    Fix:            write "1.0", or name the product that the table is for.
    HCCL:           accepts it for a table of version 1.0 (R31).
    """
    if not product.has_super_pods:
        message = Message(
            "HK111.no-super-pods",
            "{product} has no super pods: HCCL reads this table as one of version 1.0",
            product=product.title,
        )
        hint = Message("HK111.fix", 'write "version": "1.0", or name the product that the table is for')
        yield Finding(message, hint, pointer=("version",))


def pod_id_length(table: RankTable, product: Product) -> Iterator[Finding]:
    """A super pod id is empty or too long.

    What:           a `super_pod_id` that has not 1 to 127 bytes.
    Why it matters: HCCL refuses the table.
    Example:        "super_pod_id": ""
    Fix:            write the Super Pod ID of `npu-smi info -t spod-info`, or a name of your choice.
    HCCL:           EI0014, super_pod_id "a valid non-empty string." (R31); no code for one that is too long.
    """
    for pod in pods_read(table, product):
        length = bytes_of(pod.id)
        if not 1 <= length <= MAX_NAME:
            hint = Message(
                "HK211.fix", "write the Super Pod ID of `npu-smi info -t spod-info`, or a name of your choice"
            )
            message = Message("HK211.empty", '"super_pod_id" is empty; 1 to {most} are accepted', most=MAX_NAME)
            if length:
                message = Message(
                    "HK211.length",
                    '"super_pod_id" has {length} bytes; 1 to {most} are accepted',
                    length=length,
                    most=MAX_NAME,
                )
            yield Finding(message, hint, pointer=(*pod.at, "super_pod_id"))


def pod_twice(table: RankTable, product: Product) -> Iterator[Finding]:
    """Two super pods have the same id.

    What:           a `super_pod_id` that an earlier super pod of the table already has.
    Why it matters: HCCL distinguishes super pods by this id only.
    Example:        the tables of two super pods, both with super_pod_id "0", joined.
    Fix:            give every super pod its own id, or put the servers of one into one entry.
    HCCL:           EI0014, with the misleading variable "IP" (R10, R31).
    """
    named = ((pod.id, (*pod.at, "super_pod_id")) for pod in pods_read(table, product) if pod.id)
    for name, at, earlier in repeated(named):
        message = Message(
            "HK212.taken", "super pod id {super_pod} is already taken by another super pod", super_pod=shown(name)
        )
        hint = Message(
            "HK212.fix", "give every super pod its own id, or put the servers of one super pod into one entry"
        )
        yield Finding(message, hint, pointer=at, related=first_defined(earlier))


def pod_server_unknown(table: RankTable, product: Product) -> Iterator[Finding]:
    """A super pod lists a server that is not in the table.

    What:           a `server_id` in `super_pod_list` that no server of `server_list` has.
    Why it matters: HCCL looks the id up, letter by letter.
    Example:        "node0" in `super_pod_list`, and "node_0" in `server_list`.
    Fix:            write the id as `server_list` has it, or remove the entry.
    HCCL:           EI0014, server_id "a valid non-empty string.", whatever stands there (R31).
    """
    known, named = _known(table), _named(table, product)
    absent = sorted(known - named)
    is_alone = len(table.servers) == 1  # then a loopback address is a good id
    is_odd = any(not name or (is_loopback(name) and not is_alone) for name in absent)
    if named <= known or len(known) < len(table.servers) or is_odd:
        return  # where HK205, HK206 or HK209 finds the id of a server wrong, that of the super pod may be right
    hint = Message("HK213.fix", "write the id as server_list has it, or remove the entry")
    if len(absent) == 1:
        hint = Message("HK213.meant.fix", "did you mean {server}? It is in no super pod", server=shown(absent[0]))
    for name, _, at in _listings(table, product):
        if name not in known:
            message = Message(
                "HK213.unknown", "server {server} is not in the server_list of the table", server=shown(name)
            )
            yield Finding(message, hint, pointer=at)


def server_in_no_pod(table: RankTable, product: Product) -> Iterator[Finding]:
    """A server is in no super pod.

    What:           the table has a `super_pod_list`, and a server of `server_list` is not in it.
    Why it matters: with super pods, HCCL needs the super pod of every rank.
    Example:        a server added to `server_list` only; "super_pod_list": []
    Fix:            add the server to its super pod; or remove `super_pod_list` if there are none.
    HCCL:           no code; the log says "superPod[] in rank[...] is invalid" (R31).
    """
    known, named = _known(table), _named(table, product)
    if table.super_pods is None or not product.has_super_pods or known <= named or not named <= known:
        return  # a server that is not known (HK213) is most likely the one that is missing
    if not table.super_pods:
        message = Message(
            "HK214.empty", '"super_pod_list" is empty, but HCCL looks in it for the super pod of every server'
        )
        hint = Message("HK214.empty.fix", "add the super pods, or remove the key: the servers then connect over RoCE")
        yield Finding(message, hint, pointer=("super_pod_list",))
        return
    again = next(_relisted(table, product), None)
    related = (
        (Related(again[2], Message("HK214.twice", "server {server} is listed twice", server=shown(again[0]))),)
        if again
        else ()
    )
    for server in table.servers:
        if server.id not in named:
            message = Message("HK214.none", "server {server} is in no super pod of the table", server=shown(server.id))
            hint = Message("HK214.fix", "add it to the server_list of its super pod")
            yield Finding(message, hint, pointer=(*server.at, "server_id"), related=related)


def server_in_two_pods(table: RankTable, product: Product) -> Iterator[Finding]:
    """A server is in two super pods.

    What:           a `server_id` that an earlier super pod of the table lists too.
    Why it matters: a server is in one super pod only; its ranks would use links that do not exist.
    Example:        a server that was moved to another super pod, and left in the old one.
    Fix:            remove it from one of the two.
    HCCL:           goes by the last one. It takes the table, and the job fails later; or it stops with no code where
                    another device of the last one has the same SDID.
    """
    if _known(table) != _named(table, product):
        return  # most likely another server was meant, which HK213 or HK214 names
    for name, pod, at, earlier, earlier_at in _relisted(table, product):
        if pod is not earlier:
            message = Message(
                "HK215.taken",
                "server {server} is already in super pod {super_pod}",
                server=shown(name),
                super_pod=shown(earlier.id),
            )
            hint = Message("HK215.fix", "remove it from one of the two")
            yield Finding(message, hint, pointer=at, related=first_defined(earlier_at))


def pod_server_twice(table: RankTable, product: Product) -> Iterator[Finding]:
    """A super pod lists one server twice.

    What:           a `server_id` that the same super pod lists before.
    Why it matters: it does no harm, but the list counts one server too many.
    Example:        the line of one server copied.
    Fix:            remove one of the two.
    HCCL:           accepts it.
    """
    if _known(table) != _named(table, product):
        return  # most likely another server was meant, which HK213 or HK214 names
    for name, pod, at, earlier, earlier_at in _relisted(table, product):
        if pod is earlier:
            message = Message(
                "HK218.twice",
                "super pod {super_pod} lists server {server} twice",
                super_pod=shown(pod.id),
                server=shown(name),
            )
            hint = Message("HK218.fix", "remove one of the two")
            yield Finding(message, hint, pointer=at, related=first_defined(earlier_at))


def pods_mixed(table: RankTable, product: Product) -> Iterator[Finding]:
    """The servers of a super pod are not listed together.

    What:           between two servers of one super pod, `server_list` has one of another. Reported once for a table.
    Why it matters: the documentation asks for it; HCCL builds its rings in the order of the ranks.
    Example:        servers of the super pods 0, 1 and 0 again.
    Fix:            list the servers of one super pod one after the other, and number the ranks in this order.
    HCCL:           accepts it; documented only.
    """
    if len(_known(table)) < len(table.servers) or next(_relisted(table, product), None):
        return  # HK205, HK215
    pods = {server.id: pod.at for pod in pods_read(table, product) for server in pod.servers}
    order = [(server, pods[server.id]) for server in table.servers if server.id in pods]
    left: set[Pointer] = set()
    for (_, before), (server, pod) in pairwise(order):
        if pod == before:
            continue
        left.add(before)
        if pod in left:
            message = Message(
                "HK407.apart",
                "server {server} is listed apart from the other servers of its super pod",
                server=shown(server.id),
            )
            hint = Message(
                "HK407.fix", "list the servers of one super pod one after the other, and number the ranks in this order"
            )
            yield Finding(message, hint, pointer=(*server.at, "server_id"))
            return


def pod_empty(table: RankTable, product: Product) -> Iterator[Finding]:
    """A super pod has no server.

    What:           the `server_list` of a super pod is empty.
    Why it matters: HCCL refuses the table.
    Example:        "server_list": [], left behind when its servers were removed.
    Fix:            remove the super pod, or add its servers.
    HCCL:           no code; the log says "size is zero".
    """
    if not all(pod.servers for pod in pods_read(table, product)) and _known(table) <= _named(table, product):
        for pod in pods_read(table, product):
            if not pod.servers:
                message = Message("HK409.empty", "super pod {super_pod} has no server", super_pod=shown(pod.id))
                hint = Message("HK409.fix", "remove the super pod, or add its servers")
                yield Finding(message, hint, pointer=(*pod.at, "server_list"))


def _known(table: RankTable) -> set[str]:
    return {server.id for server in table.servers}


def _named(table: RankTable, product: Product) -> set[str]:
    """The servers that super pods list."""
    return {server.id for pod in pods_read(table, product) for server in pod.servers}


def _listings(table: RankTable, product: Product) -> Iterator[tuple[str, SuperPod, Pointer]]:
    """Every server as a super pod lists it, and the place of its id there."""
    for pod in pods_read(table, product):
        for index, server in enumerate(pod.servers):
            yield server.id, pod, (*pod.at, "server_list", index, "server_id")


def _relisted(table: RankTable, product: Product) -> Iterator[tuple[str, SuperPod, Pointer, SuperPod, Pointer]]:
    """Every server that is listed again: where, and where first."""
    if len(_named(table, product)) == sum(len(pod.servers) for pod in pods_read(table, product)):
        return
    listings = ((name, (pod, at)) for name, pod, at in _listings(table, product))
    for name, (pod, at), (earlier, earlier_at) in repeated(listings):
        yield name, pod, at, earlier, earlier_at


RULES = (
    Rule("HK111", "ignored-super-pods", pods_unread, severity="warning", kinds=("1.2",)),
    Rule(
        "HK211", "super-pod-id-length", pod_id_length, hccl_error="EI0014", kinds=("1.2",), variables=("super_pod_id",)
    ),
    Rule("HK212", "duplicate-super-pod", pod_twice, hccl_error="EI0014", kinds=("1.2",), variables=DUPLICATE),
    Rule(
        "HK213",
        "unknown-super-pod-server",
        pod_server_unknown,
        hccl_error="EI0014",
        kinds=("1.2",),
        variables=("server_id",),
    ),
    Rule("HK214", "server-without-super-pod", server_in_no_pod, kinds=("1.2",)),
    Rule("HK215", "server-in-two-super-pods", server_in_two_pods, kinds=("1.2",)),
    Rule("HK218", "duplicate-super-pod-server", pod_server_twice, severity="warning", kinds=("1.2",)),
    Rule("HK407", "interleaved-super-pods", pods_mixed, severity="warning", kinds=("1.2",)),
    Rule("HK409", "empty-super-pod", pod_empty, kinds=("1.2",)),
)
