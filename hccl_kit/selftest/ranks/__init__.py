"""What runs on every rank of a selftest. Only these modules of `hccl_kit.selftest` load a framework."""
