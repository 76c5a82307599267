"""What may have broken a job, as rules HK7: their ids, their names and their pages. `hccl-kit diagnose` finds them."""

from __future__ import annotations

from hccl_kit.check.rule import Rule


def _rule(text: str) -> Rule[...]:
    """The rule of a text: its id, its name, HCCL's code if there is one; then its page."""
    head, _, page = text.partition("\n")
    id_, name, *code = head.split()
    return Rule(id_, name, doc=page, hccl_error=code[0] if code else None, kinds=("logs",))


FIRST_FAULTS: tuple[Rule[...], ...] = (
    OWN_FAILURE := _rule("""HK701 own-failure
A rank failed by itself before all others.

What:           one rank reports an error that no other rank caused: an exception of its program, a port that is taken,
                a memory or card error, a signal, a full disk. Of several such ranks it is the first.
Why it matters: the others report timeouts, minutes or half an hour later, and their messages name wrong causes.
Example:        rank 27: could not listen on port 16666, it is taken
Fix:            what the line `fix` says for its error; `hccl-kit explain CODE` has the page of a code.
HCCL:           the code that the rank itself reports, such as EI0019, EI0020, EI0007 or EJ0001.
"""),
    OTHER_RELEASE := _rule("""HK702 other-release EI0008
A rank runs another release of HCCL than its peers.

What:           HCCL compared the releases of two ranks and they differ; the rarer one is named.
Why it matters: ranks of different releases choose different algorithms and wait for each other.
Example:        rank 8 has CANN 8.0.RC3, ranks 0 to 7 have CANN 8.1.RC1
Fix:            install one release on all servers; `hccl-kit preflight TABLE --all` compares them.
HCCL:           EI0008
"""),
    OTHER_ARGUMENTS := _rule("""HK703 other-arguments EI0005
A rank called an operator with other arguments than its peers.

What:           HCCL compared count, type, operation, root or buffer of an operator, and one rank differs.
Why it matters: an operator needs the same arguments on all ranks.
Example:        rank 5 reduces 64 values where the others reduce 128
Fix:            look for a condition on the rank, or for shapes that depend on the data of a rank.
HCCL:           EI0005
"""),
    ABSENT_RANK := _rule("""HK704 absent-rank EI0015
A rank never joined the rendezvous.

What:           the root of a communicator names it as absent, or it left no log and no record while others wait.
Why it matters: a communicator exists only when all its ranks have joined.
Example:        ranks 1, 3, 5 and 7 never joined
Fix:            see why it did not start: its launcher's log, its server, the address of the root.
HCCL:           EI0015
"""),
    UNREACHABLE_ROOT := _rule("""HK705 unreachable-root EI0015
Ranks could not connect to the root of their communicator.

What:           the connection to the root's address and port failed while the root was running.
Why it matters: the interface that the root listens on is not one that the others reach.
Example:        HCCL_SOCKET_IFNAME names docker0 on the root
Fix:            `hccl-kit env TABLE` names the interface of each server; open the ports in the firewall.
HCCL:           EI0015
"""),
    HEARTBEAT := _rule("""HK706 lost-heartbeat EI0002
Most ranks name one rank whose heartbeat is lost or stuck.

What:           HCCL's heartbeat first reports this rank as gone, stuck or losing packets.
Why it matters: the operators of all others time out later and name other ranks.
Example:        7 ranks heard that rank 3 is STUCK
Fix:            see the log of that rank, then its card and its server.
HCCL:           EI0002, after the heartbeat's lines.
"""),
    LOST_PACKETS := _rule("""HK707 lost-packets EI0013
Packets to a card were lost.

What:           ranks report error CQEs to one card, or two cards to each other.
Why it matters: the card has ended, or the link between is broken.
Example:        an error CQE with status 12 at both ends of one link
Fix:            see whether the peer ended before; else `hccn_tool -i N -link_stat -g` on both servers.
HCCL:           EI0013
"""),
    UNEQUAL_TLS := _rule("""HK708 unequal-tls EI0016
TLS is on for a card and off for the others, or the other way round.

What:           the state of TLS in the logs differs between cards.
Why it matters: cards with and without TLS cannot connect; both ends report a timeout.
Example:        TLS is on for card 6 only
Fix:            `hccn_tool -i N -tls -s enable 0` on every server switches it off.
HCCL:           EI0016, or EI0006 in older releases.
"""),
    UNEQUAL_VARIABLE := _rule("""HK709 unequal-variable EI0006
A rank has another value of a variable that must be equal.

What:           HCCL_ALGO, HCCL_BUFFSIZE, HCCL_CONNECT_TIMEOUT or another such variable differs, and every link that
                was not set up has such a rank at one end.
Why it matters: the variable decides to which ranks a rank connects, how, and how long it waits.
Example:        HCCL_ALGO is set on the second of three servers only
Fix:            set it to the same value on all ranks; `hccl-kit env TABLE --check LOG` compares them.
HCCL:           EI0006 on both ends.
"""),
    CUT_OFF := _rule("""HK710 cut-off-server EI0006
A server has no link to the others.

What:           its ranks and all others wait for each other, while the others do not wait among themselves; or none of
                its ranks gives a sign of life.
Why it matters: a cable, a switch port, a wrong netmask or a dead host; no rank has failed.
Example:        all links of ranks 8 to 15 timed out, those among the others did not
Fix:            `hccl-kit preflight TABLE --all` checks the links of the cards, `hccl-kit selftest TABLE --ssh` the
                network of the hosts.
HCCL:           EI0006
"""),
    UNREACHABLE_CARD := _rule("""HK711 unreachable-card EI0006
HCCL's own detector of broken connections names a card.

What:           the pairs that the detector lists have this card in common.
Why it matters: the rank runs but never called the operator, or the network of its card is broken.
Example:        three ranks find no connection to card 1 of 10.0.0.3
Fix:            see whether that rank is in the operator; else check its card with hccn_tool.
HCCL:           EI0006
"""),
    OTHER_OPERATOR := _rule("""HK713 other-operator EI0002
A rank is in another operator than the others, or behind them.

What:           operator, count or index of the operator that timed out differ, or the n-th collective does.
Why it matters: each waits for an operator that the other never enters.
Example:        ranks 4 to 7 entered all_gather where the others entered all_reduce
Fix:            all ranks must take the same path: look for a condition on the rank, its data or its clock.
HCCL:           EI0002
"""),
    LATE_RANK := _rule("""HK714 late-rank EI0006
A rank was late: the others had already timed out.

What:           it began to wait more than the timeout after the first; or others are inside a collective that it has
                not entered.
Why it matters: what delayed it takes longer than the timeout: loading, compiling, a slow disk.
Example:        rank 5 started to connect 300 s after the first rank
Fix:            find what delayed it, or raise HCCL_CONNECT_TIMEOUT on all ranks.
HCCL:           EI0006 on all ranks.
"""),
    END_OF_WAITS := _rule("""HK715 end-of-waits EI0006
All ranks wait for one rank, directly or through others.

What:           the waits form chains, and this rank is at the end of all of them.
Why it matters: its own log shows no failure: it hangs, or ended without a message.
Example:        0 -> 27, 8 -> 0, 16 -> 8
Fix:            see what that rank does: its log, its stack, its card.
HCCL:           EI0006 or EI0002 on the others.
"""),
    NEVER_TOOK_PART := _rule("""HK716 never-took-part
All ranks but one report a timeout.

What:           the log of one rank is complete and has no error, while all others timed out.
Why it matters: it never entered the operator that the others waited in.
Example:        rank 3 never entered all_reduce 2706
Fix:            see what that rank was doing then.
HCCL:           no code on this rank, EI0002 or EI0006 on the others.
"""),
    UNEQUAL_INPUTS := _rule("""HK717 unequal-inputs
A rank has another program, configuration or data than the others.

What:           our trainer compares what ranks have, and one rank differs.
Why it matters: the ranks would train different networks.
Example:        rank 1 has another configuration than rank 0
Fix:            start all ranks with the same code, configuration and files.
HCCL:           no code; `hccl-kit train` stops before HCCL would.
"""),
    STANDS_STILL := _rule("""HK718 standing-still
A process gives no sign of life while others do.

What:           the heartbeats of this rank, which it writes every second, stopped.
Why it matters: it was stopped by a signal, or hangs in native code; it has not ended.
Example:        rank 2 was stopped by SIGSTOP
Fix:            see its state with ps; `kill -CONT` continues a stopped process.
HCCL:           no code; EI0002 on the others.
"""),
    LEFT_EARLY := _rule("""HK719 left-early
A rank ended without an error while others still wait for it.

What:           it ended with success, and others are inside a collective.
Why it matters: it took fewer steps than the others: fewer samples, or an early end of its loop.
Example:        rank 3 ended after step 99, the others wait in step 100
Fix:            give all ranks the same number of steps.
HCCL:           no code; EI0002 on the others.
"""),
    FIRST_VICTIM := _rule("""HK720 first-victim
All ranks failed inside a collective; this one was the first.

What:           no rank failed by itself, and this rank has the first record of a failure.
Why it matters: the cause left no record: it may be this rank or another one.
Example:        all ranks of a job lost their connections within a second
Fix:            see the end of its log, and the system log of its server.
HCCL:           the code that the rank itself reports.
"""),
)
