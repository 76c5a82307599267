"""What runs in a pod of Kubernetes: it finds out which ranks the pod has, and the agent starts and supervises them.

    settings    what the manifest says about the job: a file of the ConfigMap
    init        process 1 of the container, which reaps orphans and passes on signals
    ranks       the ranks of the pod, by its number or by the variables of the Ascend Operator
    table       the ranks of the pod, by a rank table that is given or that the cluster writes
    interface   the network interface of the pod that has the address of its host
    ray         the entry point of a RayJob, which starts this program on every server

Manifests contain this folder and the agent as one file. As the agent, it uses the standard library only, and is written
in the syntax of Python 3.8.
"""
