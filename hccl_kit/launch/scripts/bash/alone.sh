meet() { # what the ranks of one server agree on
    [[ -n $run ]] || printf -v run '%(%Y%m%d-%H%M%S)T-%s' -1 "$$"
    choose_port
}
tell() { :; }
judged() { :; }
link='' judged_rank='' judged_code='' judged_where=''

[[ -z $server || $server == "$server_name" ]] || die "error: the table has no server $server; it has $server_name"
