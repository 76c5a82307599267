"""One module for each way of starting a plan: bash, mpirun, msrun, Slurm and Kubernetes."""
