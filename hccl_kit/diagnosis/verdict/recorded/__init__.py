"""The verdict on jobs whose ranks record what they do (hccl_kit.runtime.flight_recorder), on cards or on CPU."""
