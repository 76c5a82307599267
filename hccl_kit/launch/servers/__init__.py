"""A job on several servers, which is started here: an agent on each, reached over ssh or by srun.

No port is open but those of the frameworks. An agent that loses its connection ends its ranks.
"""
