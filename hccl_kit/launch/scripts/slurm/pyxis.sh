# Runs the tasks in a container of pyxis, a plugin of srun.
# Expects: image, step. Needs list_mounts.

enter_image() { # adds to srun's options, once
    local list
    [[ " ${step[*]} " != *' --container-image='* ]] || return 0
    list_mounts
    printf -v list ',%s' "${mounts[@]}"
    step+=(--container-image="$image" --container-mounts="${list:1}" --container-workdir="$PWD")
}
