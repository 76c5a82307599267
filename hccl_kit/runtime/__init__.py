"""From the environment of a worker to a joined process group; each module is imported on its own.

launch = detect.detect(os.environ)                    # pure: the launcher and this rank
env = join.prepare(launch, digest, os.environ)        # before MindSpore is imported
world = join.join(launch, env, "CPU")                 # the group exists
"""
