// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_HELP_HPP
#define MORTISE_TOOLS_HELP_HPP

// The texts that `--help` shows beside the options.

namespace mortise::tool::help {

inline constexpr const char* summary = "Distributed locks from the command line.";

inline constexpr const char* store =
    "Where the locks live: sqlite:PATH on this host; redis://HOST:PORT, "
    "redlock://HOST,HOST,HOST, postgresql://HOST/DATABASE, mysql://HOST/DATABASE or "
    "zookeeper://HOST,HOST,HOST for many hosts. Default: locks.db in $XDG_STATE_HOME/mortise, else "
    "in ~/.local/state/mortise";

inline constexpr const char* footer = R"(
Examples:
  mortise run --lock nightly -- backup.sh       one at a time, on this host
  mortise run --lock nightly --wait 0 -- cmd    give up at once if somebody holds the lock
  mortise ls                                    who holds what, and who waits
  mortise show nightly                          one lock in full
  mortise watch                                 the same as they change
  mortise break nightly --why "host is gone"    take it from a holder that is stuck
  mortise doctor                                what the store promises, and whether it keeps it
  mortise init --print --store postgresql://db  the SQL that makes a store, for an administrator
  mortise txn ls --log tcc.db                   transactions that have not ended
  mortise outbox ls --db shop.db                messages that wait to be sent
  mortise inbox ls --db shop.db                 messages that were received
  mortise bench handoff                         how fast a lock travels between processes

Exit codes: 0 done; 64 the command line is wrong; 69 the store cannot be used; 70 the system
refused something; `mortise run --help` and `mortise break --help` list theirs. An error is one
line on the standard error: "mortise: message: value; what to do".

Stores: redis://HOST:PORT/DATABASE, rediss://... by TLS, redis+unix:///PATH,
redis+sentinel://HOST,HOST/NAME, redis+cluster://HOST,HOST, postgresql://USER@HOST:PORT/DATABASE.
Everybody who can list processes sees their arguments. Keep a password out of them: use
MORTISE_STORE, redis://HOST?password_file=PATH or ?password_env=VARIABLE.
No command shows the password.)";

inline constexpr const char* run = "Run a command under a lock, and give its exit code";

inline constexpr const char* run_footer = R"(
--store and --json work here, too: see `mortise --help`.

The command finds in its environment:
  MORTISE_TOKEN         a decimal number that grows with every grant: pass it to whatever the
                        command writes to, so that a late writer can be refused there;
                        empty if the store gives none
  MORTISE_TOKEN_DOMAIN  the series of the number: tokens of two domains cannot be compared
  MORTISE_SLOT          with --permits: the number of its permit, from 1; else 0
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
on a second time. After a signal that ends the waiting, the request is withdrawn first; after one
that ends the command, the lock is free at once.

When mortise dies, whatever the cause, the kernel kills the command (parent-death signal). Only
the command itself: processes that it starts do not inherit the signal, and a set-user-ID or
set-group-ID program clears it. Therefore let a script `exec` its last program, and check the
token where it matters. If only mortise is stopped (SIGSTOP), the command runs on, and the lock
passes to the next holder after the TTL: only the token tells the two apart.

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

Bytes of a name that are not printable are shown as \xNN, and a backslash as two. With --json, a
name that is not UTF-8 is shown in the same way, and "name_hex" has its bytes as hexadecimal
digits. A token is a decimal string, because it can be too large for a number in JSON.

Examples:
  mortise ls
  mortise ls --all
  mortise ls --json | jq -r '.locks[] | select(.waiter_count > 0) | .name')";

inline constexpr const char* show = "Show one lock in full";

inline constexpr const char* show_footer = R"(
--store and --json work here, too: see `mortise --help`.

Shows who holds the lock, in which mode, with which token, since when and for how long at most;
who waits, in order; and when the lock was last taken from a holder by force. At most 100 waiters
are shown, 1,000 with --json. A lock that nobody holds is not an error: the exit code is 0.

`mortise ls --help` says how names are shown. For a name that begins with a dash: --lock=-name.

Examples:
  mortise show nightly
  mortise show nightly --json | jq '.holders[0].token')";

inline constexpr const char* break_lock = "Take a lock from a holder that is stuck";

inline constexpr const char* break_footer = R"(
--store and --json work here, too: see `mortise --help`.

The lock passes to the next waiter. The holder learns of the break with its next heartbeat and works
on until then: only a check of the token, where it writes, keeps a late write out. A command of
`mortise run` is ended then. If the lock is shared, all its holders lose it. The store records the
reason and who gave the order: see `mortise show`.

The command first looks up who holds the lock, and breaks that grant and no other. With --token it
breaks the grant that you saw. If several hold the lock (--permits), name one by --token or --slot.

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

On a terminal the table of `mortise ls --all` is drawn anew at each change. Elsewhere the present
state is printed first, then a line for each change (acquired, released, waits, left); with --json
each line is an object. The store reports the changes: nothing is polled. A holder or waiter that
stays for less than a tenth of a second may not be seen.

Ends by a signal (Ctrl-C), with the exit code 128+N for signal N; 69 if the store cannot be used.

Examples:
  mortise watch
  mortise watch app/
  mortise watch --json | jq -r 'select(.change == "acquired") | .name')";

inline constexpr const char* doctor = "Examine the store: what it promises, and whether it can";

inline constexpr const char* doctor_footer = R"(
--store and --json work here, too: see `mortise --help`.

Opens the store as `mortise run` does, lets it examine itself, and measures it with two clients on
a lock of their own: how long an acquire and release, a heartbeat, and a hand-over from one client
to the other take. Each line has a mark: ok, weak (works, but cannot keep a promise in every case)
or BROKEN. A store that does not exist is not created, except with --create.

Exit codes: 0 nothing is broken; 1 something is; 69 there is no store.

Examples:
  mortise doctor
  mortise doctor --store sqlite:/var/lib/app/locks.db
  mortise doctor --store redis://locks.example.org
  mortise doctor --json | jq -r '.findings[] | select(.verdict != "holds") | .found')";

inline constexpr const char* init = "Make the store, or print the SQL that makes it";

inline constexpr const char* init_footer = R"(
--store works here, too: see `mortise --help`.

Every command makes the store that it uses if it may. With --print, the statements that make the
tables of a store at a database server are printed for an administrator; nothing is opened. What is
there already stays as it is. The programs then need the rights to select, insert, update and delete
in these tables, and to use the sequence, and no others.

Exit codes: 0 done; 64 the command line is wrong; 69 the store cannot be used.

Examples:
  mortise init --store postgresql://db.example.org/mortise
  mortise init --print --store postgresql://db.example.org/mortise | psql -d mortise)";

inline constexpr const char* transactions =
    "Show the transactions of a coordinator, and mend what is stuck";

inline constexpr const char* transactions_footer = R"(
--json works here, too: see `mortise --help`.

`ls` and `show` read the log of the coordinator, whether the coordinator runs or not. They show what
is in the log: a transaction under way may be further. Name a transaction by its gid, or by the
number at the end of the gid.

`orphans` asks databases (postgresql://, mariadb://, mysql://) which branches of this log are
prepared there, and shows those that their coordinator does not finish: `unknown` to the log, or of
a transaction that has ended. A coordinator rolls them back by itself, except those of `confirmed`
transactions: decide by hand whether they are to be committed (docs/xa.md).

`retry`, `skip` and `force` leave an order in the log, with who gave it and why. A coordinator that
runs on this host hears of the order at once, carries it out or refuses it, and records the result.
If none runs, the order stays in the log, and the next coordinator carries it out.

Exit codes of those three:
  0   the order was carried out
  66  there is nothing to do: it is not stuck, or has ended, or there is no such transaction
  75  no coordinator carried it out within --wait: the order stays in the log
  64  the command line is wrong
  69  the log cannot be used

Examples:
  mortise txn ls --log tcc.db
  mortise txn ls --log tcc.db --stuck --json | jq -r '.transactions[].gid'
  mortise txn show 42 --log tcc.db
  mortise txn retry 42 --log tcc.db --why "the account is open again"
  mortise txn skip 42 --branch 2 --log tcc.db --why "paid by hand, ticket 4711"
  mortise txn force 43 --log tcc.db --why "the customer left"
  mortise txn orphans --log tcc.db postgresql://bank@db1/bank mariadb://bank@db2/bank)";

inline constexpr const char* txn_ls = "Show the transactions that have not ended";
inline constexpr const char* txn_show = "Show one transaction in full";
inline constexpr const char* txn_retry =
    "Call branches that are stuck or wait for their next attempt again";
inline constexpr const char* txn_skip = "Treat a stuck branch as finished, although it is not";
inline constexpr const char* txn_adopt =
    "Continue with a log that is an old copy; settle by hand what was decided since";
inline constexpr const char* txn_orphans =
    "Show branches that are prepared at databases, and that no transaction will finish";
inline constexpr const char* txn_force =
    "Cancel a transaction that is not decided; skip the stuck branches of one that is";

inline constexpr const char* bench = "Measure locks and transactions on this machine";

inline constexpr const char* bench_footer = R"(
--store and --json work here, too: see `mortise --help`.

Without --store (or MORTISE_STORE), a new SQLite store in a temporary folder is used and removed
afterwards. Exit code 1: two clients held a lock at the same time, a token became smaller, or a
waiter got the lock of a killed holder later than the TTL plus 100 ms. This must never happen.
handoff binds each process to one processor, for the lock and for its limit alike.

With --store redis://..., the limits are PINGs and published messages at the same server, by a
client that blocks and does nothing else. The server counts the commands and bytes of all its
clients: measure at a server that nobody else uses. At PostgreSQL and MariaDB the commands are
messages that change a lock; those that found nothing to do are not counted at PostgreSQL.

With --store zookeeper://..., the limits are bare creates and deletes of a node, and writes that a
watch tells of. The commands are packets.

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
    "A lock that passes between processes, compared with bare messages between them";
inline constexpr const char* contend =
    "Many workers in many processes want one lock: speed, waiting times, mutual exclusion";
inline constexpr const char* uncontended =
    "Acquire and release by one process, compared with the bare calls of the store";
inline constexpr const char* local =
    "A lock that passes between coroutines of one process, compared with a bare mutex";
inline constexpr const char* waiters = "The memory that a waiting coroutine takes";
inline constexpr const char* idle = "The cost of holding many locks that nobody uses";
inline constexpr const char* linger =
    "A lock that stays with its process until another wants it: speed, and time to pass on";
inline constexpr const char* takeover = "The time from the death of a holder to the next grant";
inline constexpr const char* tcc =
    "Transactions of a coordinator, compared with the bare writes that they need";
inline constexpr const char* relay =
    "A message table sent to Kafka, compared with librdkafka alone";
inline constexpr const char* txn =
    "Durable transactions of many coroutines at once, compared with one after the other";

inline constexpr const char* xa =
    "Transactions over two databases, compared with the bare statements that they need";

inline constexpr const char* xa_footer = R"(
Each transaction changes a row in each of two databases, by two-phase commit. The limit is the same
statements on as many connections, without a coordinator and without its log: the change, the note
of the branch, PREPARE, COMMIT PREPARED, both databases at once. In turns of half a second. Tables
and the log are made for it, and removed afterwards. The log is in the folder of --dir.

Examples:
  mortise bench xa postgresql://bank@db1/bank mariadb://bank@db2/bank
  mortise bench xa postgresql://bank@db1/bank postgresql://bank@db1/bank --in-flight 32 --json)";

inline constexpr const char* tcc_footer = R"(
Each transaction has two branches, whose participants are in this process and do nothing. The limit
is what the log must write: two records that are forced and one that is not, by as many coroutines.
Then the same is measured with participants that keep accounts in a database each, behind a barrier.
Files are made in the folder of --dir and removed afterwards: name one on the disk to be measured.

--recovery N: a process dies with N transactions under way, half of them decided, and the next one
finishes them. --handover N: one of two coordinators of a log is stopped in an orderly way with N
transactions under way whose participants do not answer, and the other one takes over. --backlog N:
N transactions wait for a participant that is away. This measures, in turns with a coordinator that
has no backlog, how much they slow others down, and how fast they end when the participant is back.

Examples:
  mortise bench tcc
  mortise bench tcc --in-flight 256 --seconds 10 --dir /var/lib/app --json
  mortise bench tcc --transactions 100000 --recovery 100000
  mortise bench tcc --handover 10000 --backlog 100000)";

inline constexpr const char* relay_footer = R"(
First, without Kafka: the time that a message adds to a small transaction. Then a table is filled,
and a relay sends it to Kafka. In turns with the relay, producers of librdkafka alone send the same
rows: as many producers as the table has shards, in batches of the same size. Then a hundred rows a
second are committed one by one, and a consumer of committed records notes when each arrives; the
limit is a transaction of librdkafka with one record. Last, an inbox receives the messages, and so
does a consumer of librdkafka that does nothing with them.

The topics have names of their own and are removed afterwards if the login may do that. Files are
made in the folder of --dir and removed afterwards: name one on the disk to be measured.

Examples:
  mortise bench relay --kafka 127.0.0.1:9092
  mortise bench relay --kafka 127.0.0.1:9092 --rows 200000 --size 200 --seconds 10 --json)";

inline constexpr const char* txn_footer = R"(
Each transaction is on the disk before its coroutine continues. With --store, a file in the folder
of that store is used and removed afterwards: name one on the disk to be measured.

Examples:
  mortise bench txn
  mortise bench txn --in-flight 256 --seconds 10 --json)";

}  // namespace mortise::tool::help

#endif
