"""The published definitions of HyperNode and Topology for the fields of our manifests, as JSON Schema.

Unknown fields are refused, as the API server does under strict validation. Written after
config/crd/volcano/bases/topology.volcano.sh_hypernodes.yaml of Volcano at 178acf02 and
config/components/crd/bases/kueue.x-k8s.io_topologies.yaml of Kueue at 00caa311.
"""

from tests.launch.schemas import Schema, items, record

NODE = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
LABEL = rf"{NODE[:-1].replace('^', '^(', 1)}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 253, "pattern": NODE}
METADATA = record("name", name=NAME)

HYPER_NODE = record(
    "apiVersion kind metadata spec",
    apiVersion={"const": "topology.volcano.sh/v1alpha1"},
    kind={"const": "HyperNode"},
    metadata=METADATA,
    spec=record(
        "tier",
        tier={"type": "integer", "minimum": 0},
        members={
            **items(
                record(
                    "type",
                    type={"enum": ["Node", "HyperNode"]},
                    selector=record("exactMatch", exactMatch=record("name", name=NAME)),
                )
            ),
            "minItems": 1,
        },
    ),
)
TOPOLOGY = record(
    "apiVersion kind metadata spec",
    apiVersion={"const": "kueue.x-k8s.io/v1beta2"},
    kind={"const": "Topology"},
    metadata=METADATA,
    spec=record(
        "levels",
        levels={
            **items(record("nodeLabel", nodeLabel={"type": "string", "maxLength": 316, "pattern": LABEL})),
            "minItems": 1,
            "maxItems": 8,
            "uniqueItems": True,
        },
    ),
)
