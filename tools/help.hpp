// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_HELP_HPP
#define MORTISE_TOOLS_HELP_HPP

// The texts that `--help` shows beside the options.

namespace mortise::tool::help {

inline constexpr const char* summary = "Distributed locks from the command line.";

inline constexpr const char* store =
    "Where the locks live: sqlite:PATH on this host, redis://HOST:PORT for many hosts. Default: "
    "locks.db in $XDG_STATE_HOME/mortise, else in ~/.local/state/mortise";

inline constexpr const char* footer = R"(
Examples:
  mortise run --lock nightly -- backup.sh       one at a time, on this host
  mortise run --lock nightly --wait 0 -- cmd    give up at once if somebody else is at it
  mortise ls                                    who holds what, and who waits
  mortise show nightly                          one lock in full
  mortise watch                                 the same as they change
  mortise break nightly --why "host is gone"    take it from a holder that is stuck
  mortise doctor                                what the store promises, and whether it keeps it
  mortise txn ls --log tcc.db                   transactions that have not ended
  mortise outbox ls --db shop.db                messages that wait to be sent
  mortise inbox ls --db shop.db                 messages that have come
  mortise bench handoff                         how fast a lock travels between processes

Exit codes: 0 done; 64 the command line is wrong; 69 the store cannot be used; 70 the system
refused something; and those of `mortise run --help` and `mortise break --help`. An error is one
line on the standard error: "mortise: message: value; what to do".

Stores: redis://HOST:PORT/DATABASE, rediss://... by TLS, redis+sentinel://HOST,HOST/NAME. Who can
list processes sees their arguments: keep a password out of them by MORTISE_STORE, or by
redis://HOST?password_file=PATH or ?password_env=VARIABLE. No command shows it.)";

inline constexpr const char* run = "Run a command under a lock, and give its exit code";

inline constexpr const char* run_footer = R"(
--store and --json work here, too: see `mortise --help`.

The command finds in its environment:
  MORTISE_TOKEN         a decimal number that grows with every grant: hand it to whatever the
                        command writes to, so that a late writer can be refused there;
                        empty if the store gives none
  MORTISE_TOKEN_DOMAIN  what the number belongs to: those of two domains cannot be compared
  MORTISE_SLOT          of a lock with --permits: which of the N permits it has, from 1; else 0
  MORTISE_LOCK          the name of the lock

Exit codes:
  that of the command
  128+N  signal N ended the command, or ended the waiting for the lock
  75     the lock was not free in time
  76     the lock was lost before the command ended, or --hold-max has passed (the command is told
         by TERM, then by KILL)
  69     the store cannot be used
  126    the command cannot be executed
  127    the command was not found
  64     the command line is wrong

Signals: HUP, INT, QUIT, TERM, USR1, USR2 and WINCH that are sent to mortise are passed on to
the command. What the terminal sends (Ctrl-C) reaches the command by itself, and is not passed
on a second time. A signal that ends the waiting takes the request back first; one that ends the
command frees the lock at once.

When mortise dies, whatever the cause, the kernel kills the command (parent-death signal). That
holds for the command only: processes that it starts do not inherit it, and a set-user-ID or
set-group-ID program clears it. So let a script `exec` its last program, and check the token
where it matters. If mortise alone is stopped (SIGSTOP), the command runs on, and after the TTL
the lock passes to the next one: only the token tells the two apart.

Examples:
  mortise run --lock nightly -- backup.sh --full
  mortise run --lock deploy --wait 10s --grace 30s -- make deploy
  mortise run --lock config --shared -- backup-config.sh
  mortise run --lock encoders --permits 4 -- encode input.mkv
  mortise run --lock sync --hold-max 10m -- sync-all
  mortise run --lock report -- sh -c 'exec report --token "$MORTISE_TOKEN"'
  mortise --store sqlite:/var/lib/app/locks.db run --lock job -- job
  mortise --store redis://locks.example.org run --lock job -- job)";

inline constexpr const char* ls = "Show who holds which lock, and who waits";

inline constexpr const char* ls_footer = R"(
--store and --json work here, too: see `mortise --help`.

Bytes of a name that are not printable text are shown as \xNN, a backslash as two of them. With
--json a name that is not UTF-8 comes in that form, with its bytes as hexadecimal digits in
"name_hex" beside it. A token is a decimal string: the numbers of some JSON readers are too small.

Examples:
  mortise ls
  mortise ls --all
  mortise ls --json | jq -r '.locks[] | select(.waiter_count > 0) | .name')";

inline constexpr const char* show = "Show one lock in full";

inline constexpr const char* show_footer = R"(
--store and --json work here, too: see `mortise --help`.

Shows who holds the lock, in which mode, with which token, for how long and for how long at most;
who waits, in order; and the newest cases in which it was taken from its holder by force. At most
100 waiters are shown, 1,000 with --json. A lock that nobody holds is no error: the exit code is 0.

Names are shown as `mortise ls --help` says. A name that begins with a dash: --lock=-name.

Examples:
  mortise show nightly
  mortise show nightly --json | jq '.holders[0].token')";

inline constexpr const char* break_lock = "Take a lock from a holder that is stuck";

inline constexpr const char* break_footer = R"(
--store and --json work here, too: see `mortise --help`.

The lock passes to the next who waits. The holder learns of it with its next heartbeat, and works on
until then: only a check of the token, where it writes, keeps a late write out. A command that was
started by `mortise run` is ended then. If the lock is held shared, all lose it that share it. The
reason and who gave the order are recorded in the store: see `mortise show`.

What holds the lock is looked up first, and broken is that grant and no other. With --token this is
the grant that you saw; where several hold the lock (--permits), --token or --slot says which.

Exit codes:
  0   it was broken
  66  nobody holds the lock
  75  another grant holds it now: look again
  64  the command line is wrong, or does not say which of several grants is meant
  69  the store cannot be used

Examples:
  mortise break nightly --why "host db3 is gone"
  mortise break nightly --token 88064 --why "stuck since noon, ticket 4711"
  mortise break encoders --slot 2 --why "encoder hangs")";

inline constexpr const char* watch = "Show locks and waiters as they change";

inline constexpr const char* watch_footer = R"(
--store and --json work here, too: see `mortise --help`.

On a terminal the table of `mortise ls --all` is drawn anew at each change. Elsewhere there is a
line for each change (acquired, released, waits, left), beginning with what is there; with --json
each line is an object. The store tells of changes, nothing is asked again and again. Who came and
went within a tenth of a second may not be seen.

Ends by a signal (Ctrl-C), with the exit code 128+N for signal N; 69 if the store cannot be used.

Examples:
  mortise watch
  mortise watch app/
  mortise watch --json | jq -r 'select(.change == "acquired") | .name')";

inline constexpr const char* doctor = "Examine the store: what it promises, and whether it can";

inline constexpr const char* doctor_footer = R"(
--store and --json work here, too: see `mortise --help`.

Opens the store as `mortise run` does, lets it examine itself, and measures it with two clients on
a lock of their own: how long acquire and release take, a heartbeat, and a lock that passes from one
to the other. Each line has a mark: ok, weak (works, with a promise that cannot be kept in every
case) or BROKEN. Where there is no store none is made, unless you say --create.

Exit codes: 0 nothing is broken; 1 something is; 69 there is no store.

Examples:
  mortise doctor
  mortise doctor --store sqlite:/var/lib/app/locks.db
  mortise doctor --store redis://locks.example.org
  mortise doctor --json | jq -r '.findings[] | select(.verdict != "holds") | .found')";

inline constexpr const char* transactions =
    "Show the transactions of a coordinator, and mend what is stuck";

inline constexpr const char* transactions_footer = R"(
--json works here, too: see `mortise --help`.

`ls` and `show` read the log of the coordinator, while it is at work and when it has died. What they
show is what is in the log: what is under way may be further. A transaction is named by its gid, or
by the number at the end of it.

`retry`, `skip` and `force` leave an order in the log, with who gave it and why. A coordinator that
is at work in another process of this host is told at once, does it or refuses it, and records that;
if none is, the order stays, and the next one does it.

Exit codes of those three:
  0   it was done
  66  there is nothing to do: it is not stuck, or has ended, or there is no such transaction
  75  no coordinator has done it within --wait: the order stays in the log
  64  the command line is wrong
  69  the log cannot be used

Examples:
  mortise txn ls --log tcc.db
  mortise txn ls --log tcc.db --stuck --json | jq -r '.transactions[].gid'
  mortise txn show 42 --log tcc.db
  mortise txn retry 42 --log tcc.db --why "the account is open again"
  mortise txn skip 42 --branch 2 --log tcc.db --why "paid by hand, ticket 4711"
  mortise txn force 43 --log tcc.db --why "the customer left")";

inline constexpr const char* txn_ls = "Show the transactions that have not ended";
inline constexpr const char* txn_show = "Show one transaction in full";
inline constexpr const char* txn_retry =
    "Call branches again that are stuck, or wait for their next attempt";
inline constexpr const char* txn_skip = "Take a stuck branch for finished, though it is not";
inline constexpr const char* txn_adopt =
    "Go on with a log that is an old copy; what was decided since is to be settled by hand";
inline constexpr const char* txn_force =
    "Cancel a transaction that is not decided; skip what is stuck in one that is";

inline constexpr const char* bench = "Measure locks and transactions on this machine";

inline constexpr const char* bench_footer = R"(
--store and --json work here, too: see `mortise --help`.

Without --store (or MORTISE_STORE) a new SQLite store in a temporary folder is used and removed
again. Exit code 1: two held a lock at the same time, a token fell, or who waited for a holder that
was killed got the lock later than the TTL and 100 ms; that must never happen.
handoff keeps each process to one processor, in turn, for the lock and for the limit alike.

With --store redis://... the limits are those of the server and of the client library that locks
use, too: PINGs, and messages that are published. Commands and bytes are those that the server
counts, of all its clients: measure at a server that nobody else uses.

Examples:
  mortise bench handoff --processes 2
  mortise bench contend --processes 8 --tasks 8 --hold 2ms --think 50ms --acquisitions 2000
  mortise bench uncontended --json
  mortise bench local --tasks 8
  mortise bench waiters --n 100000
  mortise bench idle --locks 10000 --seconds 10
  mortise bench linger --store redis://127.0.0.1:6379
  mortise bench takeover --ttl 1s --kills 10
  mortise bench tcc --recovery 100000
  mortise bench txn --in-flight 64)";

inline constexpr const char* handoff =
    "A lock that goes to and fro between processes, against bare messages that do the same";
inline constexpr const char* contend =
    "Many workers in many processes want one lock: speed, waiting, and whether it excludes";
inline constexpr const char* uncontended =
    "Acquire and release by one process, against the bare calls of the store that this needs";
inline constexpr const char* local =
    "A lock that is passed on among coroutines of one process, against a bare mutex";
inline constexpr const char* waiters = "How much memory a coroutine takes that waits for a lock";
inline constexpr const char* idle = "What it costs to hold many locks and do nothing";
inline constexpr const char* linger =
    "A lock that stays with its process until another one wants it: how fast, and how soon";
inline constexpr const char* takeover =
    "How long who waits for a lock waits after its holder was killed";
inline constexpr const char* tcc =
    "Transactions of a coordinator, against the bare writes that they need";
inline constexpr const char* relay = "A message table emptied into Kafka, against librdkafka alone";
inline constexpr const char* txn =
    "Durable transactions of many coroutines at once, against one after the other";

inline constexpr const char* tcc_footer = R"(
Each transaction has two branches, whose participants are in the process and do nothing. The limit
is what its log must write: two records that are forced, one that is not, by as many coroutines.
Then the same with participants that keep accounts in a database each, behind a barrier. Files are
made in the folder of --dir and removed again: name one on the disk that you want to measure.

With --recovery a process dies that has so many transactions under way, half of them decided, and
the next one finishes them. With --handover one of two coordinators on a log is stopped in order
with so many under way whose participants do not answer, and the other one goes on. With --backlog
so many wait for a participant that is away: what that is to healthy ones, which are measured in
turns with those of a coordinator that has no others, and how fast it is gone when that one is back.

Examples:
  mortise bench tcc
  mortise bench tcc --in-flight 256 --seconds 10 --dir /var/lib/app --json
  mortise bench tcc --transactions 100000 --recovery 100000
  mortise bench tcc --handover 10000 --backlog 100000)";

inline constexpr const char* relay_footer = R"(
A table is filled and a relay empties it into Kafka; in turns with it, producers of librdkafka alone
send the same rows, as many producers as the table has shards, in batches as large. Then a hundred
rows a second are committed one by one, and a consumer that reads committed records notes when each
came; the limit is a transaction of librdkafka with one record. An inbox receives what was sent, and
so does a consumer of librdkafka that does nothing with it. Before, without Kafka: what a message
adds to a small transaction.

The topics have names of their own and are removed again, as far as the login may do that. Files are
made in the folder of --dir and removed again: name one on the disk that you want to measure.

Examples:
  mortise bench relay --kafka 127.0.0.1:9092
  mortise bench relay --kafka 127.0.0.1:9092 --rows 200000 --size 200 --seconds 10 --json)";

inline constexpr const char* txn_footer = R"(
Each transaction is on the disk before its coroutine goes on. With --store the folder of that
store is used, for a file that is removed again: name one on the disk that you want to measure.

Examples:
  mortise bench txn
  mortise bench txn --in-flight 256 --seconds 10 --json)";

}  // namespace mortise::tool::help

#endif
