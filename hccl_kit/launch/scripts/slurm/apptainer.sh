# Runs the ranks in an image by apptainer. Expects: hk_mounts.

hk_command=(apptainer exec "${hk_mounts[@]/#/--bind=}" --pwd="$PWD"
    __image__ "${hk_command[@]}")
