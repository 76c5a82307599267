# Runs each rank in a container of apptainer.
# Expects: image. Needs list_mounts.

enter_container() { # of a task; the words that start a rank are in start
    local mount binds=()
    list_mounts
    for mount in "${mounts[@]}"; do binds+=(--bind "$mount"); done
    start=(apptainer exec "${binds[@]}" --pwd "$PWD" "$image" "${start[@]}")
}
