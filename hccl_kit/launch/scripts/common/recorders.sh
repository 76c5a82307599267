# The flight recorders of torch and torch_npu: on, with their dumps in the folder of the run.
# Expects: recorder_rows, each VALUE NAME [OTHER_NAME ...]; a VALUE that begins with ./ is a file in the folder.

recorders=() # NAME=VALUE of those of which the user has set no name
for row in "${recorder_rows[@]}"; do
    read -ra row_words <<<"$row"
    for row_name in "${row_words[@]:1}"; do [[ -z ${!row_name+set} ]] || continue 2; done
    recorders+=("${row_words[1]}=${row_words[0]}")
done

switch_recorders_on() { # needs logs
    local one value
    for one in ${recorders[@]+"${recorders[@]}"}; do
        value=${one#*=}
        [[ $value != ./* ]] || value=$logs/${value#./}
        export "${one%%=*}=$value"
    done
}
