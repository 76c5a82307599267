"""Where an actor is."""

import ray


def get_node_ip_address() -> str:
    return str(ray._here.address)
