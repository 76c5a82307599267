"""What Kueue reads of a job: its queue, and where its pods have to be in the topology of the cluster.

Source: kubernetes-sigs/kueue, apis/kueue/v1beta2/topology_types.go at 046d2efa; the annotations stand in the template
of a pod, and only one of them.
"""

from __future__ import annotations

import re

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters.pod_options import SUBDOMAIN
from hccl_kit.table.document import shown

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
UNCONSTRAINED = "unconstrained"
_ANNOTATION = "kueue.x-k8s.io/podset-{}-topology"
_WITH_LEVEL = re.compile(
    rf"(required|preferred)=((?:{SUBDOMAIN}/)?(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])", re.ASCII
)
_LONGEST = 316
"""Characters of the label of a level."""


def topology(text: str | None, *, has_queue: bool) -> dict[str, str]:
    """The annotations of pods for `required=LABEL`, `preferred=LABEL` or `unconstrained`.

    Raises KitError for any other value, or if no queue is given.
    """
    if text is None:
        return {}
    if not has_queue:
        raise KitError(
            "launch.kueue.kueue-topology-needs",
            "--kueue-topology needs --kueue-queue: only a job in a queue is placed by Kueue",
        )
    if text == UNCONSTRAINED:
        return {_ANNOTATION.format(UNCONSTRAINED): "true"}
    match = _WITH_LEVEL.fullmatch(text)
    if not match or len(match[2]) > _LONGEST:
        raise KitError(
            "launch.kueue.kueue-topology",
            "--kueue-topology is {text}; accepted: required=LABEL, preferred=LABEL (a level of the "
            "Topology of Kueue) or {unconstrained}",
            fix="hccl-kit place TABLE --to kueue-topology prints one: required=hccl-kit/super-pod",
            text=shown(text),
            unconstrained=UNCONSTRAINED,
        )
    return {_ANNOTATION.format(match[1]): match[2]}
