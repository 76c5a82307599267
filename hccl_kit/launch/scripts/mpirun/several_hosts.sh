# What mpirun needs on several hosts. Expects: hk_version, hk_hosts, hk_first (the host of rank 0). Needs hk_fail.

hk_later=" $(sed '1d; s/ .*/ /' "$hk_hosts" | tr -d '\n')"
for hk_name in $(hostname -I) "$HOSTNAME" "${HOSTNAME%%.*}"; do
    [[ $hk_version != *') 4.'* || $hk_later != *" $hk_name "* ]] ||
        hk_fail "error: started on $hk_name, Open MPI 4 would put rank 0 here, not on $hk_first" \
            "  fix: start this script on $hk_first, or with Open MPI 5"
done
# By default, ssh waits minutes for a host that is down, and prompts for passwords and unknown host keys.
if [[ -z ${OMPI_MCA_plm_rsh_agent:-}${OMPI_MCA_plm_rsh_args:-}${PRTE_MCA_plm_ssh_agent:-}${PRTE_MCA_plm_ssh_args:-} ]]
then
    export OMPI_MCA_plm_rsh_args='-o BatchMode=yes -o ConnectTimeout=10'
    export PRTE_MCA_plm_ssh_args=$OMPI_MCA_plm_rsh_args
fi
