"""The exceptions of Ray that `hccl_kit.pod.ray` meets."""


class RayError(Exception):
    pass


class RayActorError(RayError):
    pass


class GetTimeoutError(RayError, TimeoutError):
    pass
