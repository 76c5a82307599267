"""The exceptions of Ray that `ray_start` meets."""


class RayError(Exception):
    pass


class RayActorError(RayError):
    pass


class GetTimeoutError(RayError, TimeoutError):
    pass
