# Runs the ranks in an image by pyxis, a plugin of srun. Expects: hk_mounts.

hk_step+=(--container-image=__image__ --container-workdir="$PWD"
    --container-mounts="$(IFS=, && echo "${hk_mounts[*]}")")
