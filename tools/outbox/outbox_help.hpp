// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_OUTBOX_HELP_HPP
#define MORTISE_TOOLS_OUTBOX_OUTBOX_HELP_HPP

// The texts that `--help` shows for `mortise outbox` and `mortise inbox`.

namespace mortise::tool::help {

inline constexpr const char* outbox = "Show the message table of a database, mend and empty it";

inline constexpr const char* outbox_footer = R"(
--json works here, too: see `mortise --help`.

`ls`, `show` and `parked` read the database, also while relays are at work; none is made. How far a
relay got is known to the sink first: rows "after the mark" of the table may be sent already.

A message that the sink refuses for good is parked, and what has its topic and key waits behind it.
`replay` sends it again, `drop` gives it up; what waited behind it is sent in its order. With
--topic, --payload-file or --header `replay` changes it before: what was wrong with it is mended.

`later` shows what is not due yet; `cancel` takes such a message back, `reschedule` gives it another
time. `discard` gives up one that waits to be sent: the relay passes over it, unless it has read it
already; to be sure, stop the relays before.

Where sink and table contradict each other (one of them was restored, or replaced) a shard is
refused, until `rebase` says where it goes on. Up to that row all counts as sent: what was not is
lost. After it all is sent: what was sent already comes twice. Nothing checks which is right.

`relay` sends what is there, and what comes, to message files in a folder (--to), or to Kafka
(--kafka), until a signal ends it. With --store, or MORTISE_STORE, several share the table by locks
there; else the last to come takes all of it. Each event but a sent batch is one line.
A sink that fails is tried again and again. With --file-bytes a message file that is so long is
closed, and another begun; --files-kept says how many of those stay.

What else Kafka has to be told has librdkafka's names: --setting security.protocol=ssl. Who can list
processes sees their arguments: so passwords and keys are refused there. They come from a file with
lines NAME=VALUE (--setting-file), or from the environment: --setting-env sasl.password=PASSWORD
takes the value of the variable PASSWORD. No command shows them. A program that has sent from this
table itself, with a progress topic or a prefix of ids of its own, says the same here.

Relays in other processes of this host hear of each change at once.

Exit codes:
  0      it was done
  66     there is no such row, shard or id, or nothing that is parked or refused
  64     the command line is wrong
  69     the database cannot be used, has no message table, or one of a newer version; `relay
         --until-empty`: a shard is refused
  128+N  signal N ended `relay`

Examples:
  mortise outbox ls --db shop.db
  mortise outbox ls --db shop.db --json | jq '.waiting, .oldest_seconds'
  mortise outbox ls --db shop.db --rows --limit 20
  mortise outbox show 42 --db shop.db
  mortise outbox parked --db shop.db
  mortise outbox replay 42 --db shop.db
  mortise outbox replay 42 --payload-file mended.json --topic orders --db shop.db
  mortise outbox drop 42 --yes --db shop.db
  mortise outbox later --db shop.db
  mortise outbox cancel 'reminder 7' --yes --db shop.db
  mortise outbox reschedule 'reminder 7' --in 2h --db shop.db
  mortise outbox discard 43 --yes --db shop.db
  mortise outbox rebase 3 --after 1700 --db shop.db
  mortise outbox reshard 16 --db shop.db
  mortise outbox relay --db shop.db --to /var/spool/shop --until-empty
  mortise outbox relay --db shop.db --to /var/spool/shop --file-bytes 100000000 --files-kept 10
  mortise outbox relay --db shop.db --kafka broker-1:9092,broker-2:9092)";

inline constexpr const char* outbox_ls = "Show how much waits, for how long, and each shard";
inline constexpr const char* outbox_show = "Show one row whole";
inline constexpr const char* outbox_parked = "Show what cannot be sent, and how much waits for it";
inline constexpr const char* outbox_later = "Show what is not due yet, and when it will be";
inline constexpr const char* outbox_replay =
    "Send a parked message again, and what waits behind it";
inline constexpr const char* outbox_discard = "Give a message up that waits to be sent";
inline constexpr const char* outbox_cancel = "Take a message back that is not due yet";
inline constexpr const char* outbox_reschedule = "Give a message that is not due another time";
inline constexpr const char* outbox_drop =
    "Give a parked message up for ever, and send what waits behind it";
inline constexpr const char* outbox_rebase = "Say where a shard goes on that a relay has refused";
inline constexpr const char* outbox_reshard =
    "Change the number of shards; what is there is sent first";
inline constexpr const char* outbox_relay = "Send messages to files or to Kafka, until a signal";

inline constexpr const char* inbox = "Show the inboxes of a database, and mend what is parked";

inline constexpr const char* inbox_footer = R"(
--json works here, too: see `mortise --help`.

`ls` and `parked` read the database, also while inboxes are at work; none is made. A message that
its handler could not deal with is parked, and what has its topic and key waits behind it. `replay`
tries it again as if for the first time, `drop` gives it up, and what waits behind it is tried.
Inboxes in other processes of this host hear of it at once.

`move` says where an inbox goes on with a source whose offsets do not fit any more: a topic that was
made anew, or from which records were removed before they came. All before that offset counts as
dealt with, all from there on as new. Stop who delivers before, and start it again then.

Exit codes:
  0   it was done
  66  there is no such row, or source, or nothing that is parked
  64  the command line is wrong
  69  the database cannot be used, has no inbox, or one of a newer version

Examples:
  mortise inbox ls --db shop.db
  mortise inbox parked --db shop.db --json | jq -r '.parked[].reason'
  mortise inbox replay 7 --db shop.db
  mortise inbox replay --all --db shop.db
  mortise inbox drop 7 --yes --db shop.db
  mortise inbox move MkU3OEVBNTcwNTJENDM2Qg/orders/0 --to 0 --inbox shipping --db shop.db)";

inline constexpr const char* inbox_ls = "Show how far each inbox is, and how much it holds";
inline constexpr const char* inbox_parked = "Show what could not be dealt with, and why";
inline constexpr const char* inbox_replay = "Try a parked message again";
inline constexpr const char* inbox_drop =
    "Give a message up for ever that is parked, or tried again";
inline constexpr const char* inbox_move = "Say where an inbox goes on with a source";

}  // namespace mortise::tool::help

#endif
