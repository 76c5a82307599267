"""The networks of a card (version 2.0), with the keys of the table.

    level_list:
    - net_layer: 0
      net_instance_id: srv0
      net_type: TOPO_FILE_DESC
      rank_addr_list:
      - {addr_type: EID, addr: 000000000000002000100000dfdf0001, ports: [0/1], plane_id: 0}

The keys are those of `schemas/rank_table_2.0.schema.json`.
"""

from __future__ import annotations

from hccl_kit.discovery.yaml_tree import Node, Tree
from hccl_kit.table.hccl_parser.bounds import MAX_ADDRESSES, MAX_LAYER, MAX_LEVELS, MAX_PORTS
from hccl_kit.table.model import NOTHING, Address, Level

_LEVEL_KEYS = ("net_layer", "net_instance_id", "net_type", "net_attr", "rank_addr_list")
_ADDRESS_KEYS = ("addr_type", "addr", "ports", "plane_id")


def levels(tree: Tree, node: Node) -> tuple[Level, ...]:
    """The levels in their order. Raises KitError with the place if the structure is wrong or a limit is exceeded.

    The values are checked by the rules, in the generated table.
    """
    return tuple(_level(tree, item) for item in tree.items(node, MAX_LEVELS))


def _level(tree: Tree, node: Node) -> Level:
    entries = tree.entries(node, _LEVEL_KEYS, required=("net_layer", "net_instance_id", "rank_addr_list"))
    return Level(
        layer=tree.number(entries["net_layer"], MAX_LAYER),
        instance=tree.text(entries["net_instance_id"]),
        addresses=tuple(_address(tree, item) for item in tree.items(entries["rank_addr_list"], MAX_ADDRESSES)),
        type=tree.text(entries["net_type"]) if "net_type" in entries else None,
        extra={"net_attr": tree.text(entries["net_attr"])} if "net_attr" in entries else NOTHING,
    )


def _address(tree: Tree, node: Node) -> Address:
    entries = tree.entries(node, _ADDRESS_KEYS, required=("addr_type", "addr", "ports"))
    return Address(
        type=tree.text(entries["addr_type"]),
        text=tree.text(entries["addr"]),
        ports=tuple(tree.text(port) for port in tree.items(entries["ports"], MAX_PORTS)),
        extra={"plane_id": tree.text(entries["plane_id"])} if "plane_id" in entries else NOTHING,
    )
