# The same by the kit, if the first node has it. Expects: hk_table, hk_command.

[[ -n ${HCCL_KIT_SERVER:-} ]] || ! command -v hccl-kit >/dev/null ||
    exec hccl-kit run "$hk_table" --slurm__options__ -- "${hk_command[@]}"
