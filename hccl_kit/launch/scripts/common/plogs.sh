# The folder of the logs that CANN writes (plogs): one for each run and server.
# Expects: logs, server_name, given_plogs (the folder that the user has set, or empty).

make_plogs() { # sets plogs; empty if the folder cannot be made, which is no reason not to start
    local name=${server_name//[^[:alnum:]._-]/_}
    name=${name/#./_}
    plogs=${given_plogs:-$logs/plog/${name:0:40}}
    [[ -n $given_plogs ]] || mkdir -p -- "$plogs" 2>/dev/null || plogs=''
}
