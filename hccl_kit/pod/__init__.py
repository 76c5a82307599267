"""What runs in a pod of Kubernetes: it finds out which ranks the pod has, and the agent starts and supervises them.

Manifests contain this folder and the agent as one file. As the agent, it uses the standard library only, and is written
in the syntax of Python 3.8.
"""
