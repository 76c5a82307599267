"""The agent: starts the ranks of one server, looks after them, and ends them.

`job` is the state machine, `supervise` its loop, `member` the agent of one of several servers. It uses the standard
library only, is written in the syntax of Python 3.8, and knows no tables: the caller has checked them. Linux only, for
/proc.
"""
