# What mpirun needs on several hosts. Expects: hk_version, hk_hosts. Needs hk_fail.

[[ $hk_version == *') 4.'* ]] && sed '1d; s/ .*//' "$hk_hosts" |
    grep -qxF -f <(hostname -I | tr ' ' '\n'; hostname; hostname -s) && hk_fail \
    "error: Open MPI 4 would put rank 0 on the host where mpirun is started, $HOSTNAME" \
    "  fix: start this script on the first host of $hk_hosts, or with Open MPI 5"
hk_ssh=${OMPI_MCA_plm_rsh_args-${PRTE_MCA_plm_ssh_args--o BatchMode=yes -o ConnectTimeout=10}}
[[ -n ${OMPI_MCA_plm_rsh_agent:-}${PRTE_MCA_plm_ssh_agent:-} ]] || # by default, ssh waits minutes, and prompts
    export OMPI_MCA_plm_rsh_args="$hk_ssh" PRTE_MCA_plm_ssh_args="$hk_ssh"
