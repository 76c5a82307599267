# Sets own_session, the front of a command that gets a session of its own and is killed with its parent.

own_session=(setsid)
if setpriv --pdeathsig KILL true 2>/dev/null; then own_session=(setpriv --pdeathsig KILL -- setsid); fi
