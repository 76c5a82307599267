"""The agent: starts the ranks of one server, looks after them, and ends them.

    assignment   what the agent is told, as JSON: ranks, command, environment, log folder, limits
    member       the agent of one of several servers, which is told what to do
    lines        what it is told, and what it reports
    job          the state machine: events in, actions out, no processes
    supervise    the loop: processes, signals and clocks become events, actions become processes and signals
    server       the ranks of this server: the present start, what happens to it, what is done to it
    ranks        the processes of the ranks
    guard        a process that ends what ranks have started, also after the agent was killed
    output       what ranks print: to their logs, within their limits, and to the screen, which cannot block the job
    screen       the thread that writes to the screen
    progress     the steps that ranks count, and who has stopped
    evidence     what a failed rank has left: its error file and the end of its log
    report       the job in words
    texts        the words, in English and as they were sent
    run_folder   the log folder of a run, and whether it is safe there
    port         the port of rank 0
    cores        how many threads a rank has
    machine      the cores, NUMA nodes and cards of this server
    binding      which cores each rank gets

It uses the standard library only, is written in the syntax of Python 3.8, and knows no tables: the caller has checked
them. Linux only, for /proc.
"""
