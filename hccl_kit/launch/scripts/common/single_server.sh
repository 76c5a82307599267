# In the place of rendezvous.sh for a job on one server, which has no other server to talk to.
# Expects: server (given by the user), server_name.

join_servers() { # sets port
    choose_port
}
send() { :; }
wait_for_result() { :; }
with_ranks() { :; }
rendezvous='' result_rank='' result_code='' result_server=''

[[ -z $server || $server == "$server_name" ]] || die "error: the table has no server $server; it has $server_name"
