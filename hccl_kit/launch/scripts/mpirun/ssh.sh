# How mpirun reaches other hosts, unless the user has said it.

hk_ssh=${OMPI_MCA_plm_rsh_args-${PRTE_MCA_plm_ssh_args--o BatchMode=yes -o ConnectTimeout=10}}
[[ -n ${OMPI_MCA_plm_rsh_agent:-}${PRTE_MCA_plm_ssh_agent:-} ]] || # by default, ssh waits minutes, and prompts
    export OMPI_MCA_plm_rsh_args="$hk_ssh" PRTE_MCA_plm_ssh_args="$hk_ssh"
