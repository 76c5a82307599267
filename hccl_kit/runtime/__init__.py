"""From the environment of a worker to a joined process group.

launch = detect(os.environ)                      # pure: the launcher and this rank
env = prepare(launch, digest, os.environ)        # before MindSpore is imported
world = join(launch, env, "CPU")                 # the group exists
"""

from hccl_kit.runtime.consistency import JointError, assert_identical
from hccl_kit.runtime.detect import LAUNCHERS, Launch, detect
from hccl_kit.runtime.join import World, finish, join, prepare

__all__ = ["LAUNCHERS", "JointError", "Launch", "World", "assert_identical", "detect", "finish", "join", "prepare"]
