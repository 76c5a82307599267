"""HK6: the network ports of the cards: link, reachability, TLS."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence

from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.check.rule import Rule
from hccl_kit.discovery import hccn_answers
from hccl_kit.discovery.driver_tool import NoAnswerError, excerpt
from hccl_kit.preflight.node import ATLAS_950, CannotTellError, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import findings_on_cards, here, need_npu
from hccl_kit.preflight.rules.card_addresses import asks_for_roce, nic_addresses, uses_roce, with_address
from hccl_kit.table.finding import Finding
from hccl_kit.table.hosts import Card
from hccl_kit.table.model import Device

_Unset = tuple[Sequence[int], Mapping[int, str]]
"""The cards for which the tool reports that something is not set, and its other output for the others."""
_UP = "UP"
_REACHED = ("Success", "Init", "Detect ip set")
""""Init": no netdetect address is configured (HK632). "Detect ip set": one was configured just now."""
_UNSET_ADDRESS = "0.0.0.0"  # noqa: S104 - what the driver has if nothing was set


def link_down(node: Node) -> Iterator[Finding]:
    """The network port of a card has no link.

    What:           hccn_tool reports "link status: DOWN" for a card of a job that uses the network: of several servers
                    or super pods, or with HCCL_INTRA_ROCE_ENABLE=1.
    Why it matters: the card cannot reach those of other servers; all ranks wait until their timeout.
    Example:        card 5: link status DOWN
    Fix:            check the cable and the optical module: hccn_tool -i 5 -optical -g, hccn_tool -i 5 -lldp -g; if it
                    was switched off, hccn_tool -i 5 -link -s up.
    HCCL:           EI0006 after HCCL_CONNECT_TIMEOUT; EI0009 if the link goes down later.
    """
    states, failures = _ask(node, hccn_answers.link, "-link", "-g")
    down = {card: _link_status(text) for card, text in states.items() if text != _UP}
    yield from findings_on_cards(
        down | failures, Message("HK630.fix", "check the cable and the optical module: hccn_tool -i N -optical -g")
    )


def network_unreachable(node: Node) -> Iterator[Finding]:
    """A card does not reach its netdetect address.

    What:           hccn_tool reports a net health status such as Finding, Unreachable or Receive timeout, and not
                    Success, for a card with a netdetect address.
    Why it matters: the address is usually that of the gateway, so the networks behind it are not reached either. Or no
                    host answers at that address, and the network is healthy.
    Example:        card 2: net health status Receive timeout
    Fix:            hccn_tool -i 2 -netdetect -g shows the address; hccn_tool -i 2 -ping -g address A.B.C.D asks others.
    HCCL:           no code of its own; EI0006 where the other servers are not reached.
    """
    states, failures = _ask(node, hccn_answers.net_health, "-net_health", "-g")
    bad = {card: _net_health(text) for card, text in states.items() if text not in _REACHED}
    yield from findings_on_cards(
        bad | failures,
        Message(
            "HK631.fix",
            "hccn_tool -i N -netdetect -g shows the address, hccn_tool -i N -ping -g address A.B.C.D tries another",
        ),
    )


def gateway_not_set(node: Node) -> Iterator[Finding]:
    """A card has no gateway or no netdetect address, and the job has several servers.

    What:           a card has no default gateway, while a card that it connects to has an address outside its own
                    network; or no netdetect address is set, so link health cannot be probed.
    Why it matters: without gateway, packets to another network are lost. Without netdetect the health of the network
                    stays "Init", and clusters that check it treat the card as unhealthy.
    Example:        the cards have 10.20.4.0/24 here and 10.20.5.0/24 on the other server, and no gateway.
    Fix:            hccn_tool -i 0 -gateway -s gateway A.B.C.D; hccn_tool -i 0 -netdetect -s address A.B.C.D, for which
                    the gateway serves.
    HCCL:           no code of its own; EI0006 where the other servers are not reached.
    """
    cards, _ = nic_addresses(node, _cards(node))
    plain = {device_id: card for device_id, card in cards.items() if card.ip and ":" not in card.ip}
    if not plain:
        raise CannotTellError("HK632.no-ipv4", "no card here has an IPv4 address")
    far = [device_id for device_id, card in plain.items() if _goes_outside(node, device_id, card)]
    lost = _unset(node, far, hccn_answers.gateway, "-gateway") if far else ((), {})
    unasked = _unset(node, sorted(plain), hccn_answers.net_detect, "-netdetect")
    yield from _not_set(
        lost,
        Message("HK632.gateway", "no gateway is set, and other servers have addresses outside the card's network"),
        Message("HK632.gateway.fix", "hccn_tool -i N -gateway -s gateway A.B.C.D"),
    )
    yield from _not_set(
        unasked,
        Message("HK632.netdetect", "no netdetect address is set, so link health cannot be probed"),
        Message("HK632.netdetect.fix", "hccn_tool -i N -netdetect -s address A.B.C.D, for example of the gateway"),
    )


def tls_mixed(node: Node) -> Iterator[Finding]:
    """TLS is switched on for some cards of this server and off for others.

    What:           hccn_tool -i N -tls -g reports "tls switch[1]" for some cards of the table and "tls switch[0]" for
                    others. HK617 compares the servers.
    Why it matters: a card with TLS and one without do not connect.
    Example:        card 4 was replaced, and came with TLS on.
    Fix:            hccn_tool -i N -tls -s enable 0 for each card, or 1 on all, of all servers.
    HCCL:           EI0016 "All ranks are consistent"; EI0006 in older releases.
    """
    switches = tls_switches(node)
    on = sorted(device_id for device_id, text in switches.items() if text == "on")
    off = sorted(switches.keys() - set(on))
    if on and off:
        few, text, other = (on, "on", "off") if len(on) <= len(off) else (off, "off", "on")
        yield from findings_on_cards(
            dict.fromkeys(
                few, Message("HK633.tls", "TLS is {switch}; on the other cards it is {other}", switch=text, other=other)
            ),
            Message(
                "HK633.fix",
                "hccn_tool -i N -tls -s enable {switch} for each of them, the same on all servers",
                switch=int(other == "on"),
            ),
        )


def tls_switches(node: Node) -> Mapping[int, str]:
    """Card to "on" or "off"; raises CannotTellError if none is known."""
    _need_ports(node)
    switches, _ = tools.hccn(node, here(node), _reader(hccn_answers.tls, "-tls", "-g"))
    return switches


def _link_status(text: str) -> Message:
    return Message("HK630.link", "link status {status}", status=text)


def _net_health(text: str) -> Message:
    return Message("HK631.net-health", "net health status {status}", status=text)


def _ask(node: Node, parse: hccn_answers.Reader, *words: str) -> tuple[dict[int, str], dict[int, str]]:
    return tools.hccn(node, _cards(node), _reader(parse, *words))


def _unset(node: Node, ids: Sequence[int], parse: hccn_answers.Reader, word: str) -> _Unset:
    def read(query: Callable[..., str]) -> str:
        return _UNSET_ADDRESS if hccn_answers.says_unset(query(word, "-g")) else _reader(parse, word, "-g")(query)

    addresses, failures = tools.hccn(node, ids, read)
    return [card for card, address in addresses.items() if address == _UNSET_ADDRESS], failures


def _not_set(unset: _Unset, text: Message, hint: Message) -> Iterator[Finding]:
    ids, failures = unset
    yield from findings_on_cards(dict.fromkeys(ids, text), hint)
    yield from findings_on_cards(failures)


def _reader(parse: hccn_answers.Reader, *words: str) -> Callable[[Callable[..., str]], str]:
    def read(query: Callable[..., str]) -> str:
        answer = query(*words)
        state = parse(answer)
        if state is None:
            raise NoAnswerError(
                Message("preflight.other-answer", "{option} -g: {answer}", option=words[0], answer=excerpt(answer))
            )
        return state

    return read


def _cards(node: Node) -> tuple[int, ...]:
    """The present cards, if the job uses their ports; raises CannotTellError otherwise.

    Without `device_ip` a card connects to others by the host's network (R28) or by another card's port (R27, 910).
    """
    _need_ports(node)
    if not uses_roce(node):
        raise CannotTellError("HK630.no-roce", "the cards of this job connect without their network ports")
    return here(node) if asks_for_roce(node) else with_address(node)


def _need_ports(node: Node) -> None:
    need_npu(node)
    if node.table.version == ATLAS_950:
        raise CannotTellError("HK630.atlas-950", "the output of hccn_tool on Atlas 950 is not known well enough")


def _goes_outside(node: Node, device_id: int, card: Card) -> bool:
    """Whether a card that this one connects to is outside its network; False if the netmask is not known."""
    if card.prefix is None:
        return False
    network = _network(f"{card.ip}/{card.prefix}")
    others = [
        ip_of(text.strip().partition("%")[0])
        for server, device in node.table.devices()
        if server is not node.server and _connect(node, device_id, device)
        for text in (device.ip or "").split(",")
    ]
    return network is not None and any(
        isinstance(other, ipaddress.IPv4Address) and other not in network for other in others
    )


def _network(text: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(text, strict=False)
    except ValueError:  # a prefix of more than 32 bits
        return None


def _connect(node: Node, device_id: int, other: Device) -> bool:
    """Whether two cards of different servers connect: those of one plane where a product has several networks."""
    planes = node.product.planes
    return planes == 1 or device_id % planes == other.id % planes


RULES = (
    Rule("HK630", "link-down", link_down, hccl_error="EI0006", needs_server=True),
    Rule("HK631", "unreachable-card-network", network_unreachable, severity="warning", needs_server=True),
    Rule("HK632", "gateway-not-set", gateway_not_set, severity="warning", needs_server=True),
    Rule("HK633", "mixed-tls", tls_mixed, hccl_error="EI0016", needs_server=True),
)
