"""A job on several servers, which is started here: an agent on each, reached over ssh or by srun.

    connection   the agent of one server: the process that reaches it, what it is told, what it reports
    server       a server: its assignment, what it does, its connection
    ranks        the ranks of all servers, for the loop of the job (`hccl_kit.agent.supervise`)
    placement    which servers the job has, and which spare takes the place of one that is lost
    fetching     the logs of servers that have another disk
    unpacking    a program of its own: the archive of a server, which is not trusted
    job          start, loss, start again, logs

No port is open but those of the frameworks. An agent that loses its connection ends its ranks.
"""
