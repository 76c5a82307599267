"""Which of the reserved servers an actor gets."""

from typing import Any


class PlacementGroupSchedulingStrategy:
    def __init__(self, placement_group: Any, placement_group_bundle_index: int) -> None:
        self.group, self.bundle = placement_group, placement_group_bundle_index
