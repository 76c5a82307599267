"""Open files of a program that is connected to all servers of a job. Part of programs that launch scripts contain."""

from __future__ import annotations

import asyncio
import os
import resource
import sys


def allow_open_files(needed: int) -> str:
    """Raise the limit of open files as far as the system lets this user; why that is not enough, if it is not."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most == resource.RLIM_INFINITY or most >= needed:
        return ""
    return (
        f"error: the job needs {needed} open files on this server, and the system allows {most}\n"
        "  fix: raise the hard limit (ulimit -Hn; LimitNOFILE of the session), or start the job with Slurm"
    )


def watch_children_by_descriptor() -> None:
    """Notice the end of a child by a descriptor, as Python 3.12 does, instead of a thread for each child."""
    if (3, 9) <= sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        try:
            os.close(os.pidfd_open(os.getpid()))
        except OSError:  # Linux before 5.3
            return
        watcher = asyncio.PidfdChildWatcher()
        watcher.attach_loop(asyncio.get_running_loop())
        asyncio.set_child_watcher(watcher)
