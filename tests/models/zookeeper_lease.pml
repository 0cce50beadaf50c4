/* SPDX-License-Identifier: BSL-1.0
 *
 * How long a session of ZooKeeper lives for sure, as far as its client can tell.
 *
 * The leader counts the time of a session, and the client talks to a follower. No answer to the
 * client says when the leader heard of it last. The follower tells the leader that a session was
 * heard of when it answers a ping, and a forwarded write does not count. Any message is delayed for
 * any time, a connection may end at any moment, and so may the reign of a leader.
 *
 * The rule. A packet is a touch once the follower has answered it. A beat (a write) that is sent
 * more than PING after the answer of a touch carries that touch, and one that is sent sooner
 * carries what the beat before it did. The leader has sent a ping after that answer and before it
 * commits the beat; so when the beat is acknowledged the follower has answered this ping, or an
 * earlier one, with the touch. When a further beat, sent after that, is committed, the leader has
 * heard of the touch. So a beat that is acknowledged proves TTL, the timeout of the session, from
 * the sending of the touch that the beat before it carried. If each beat is sent more than PING
 * after the acknowledgement of the one before, beat k + 1 proves TTL from the sending of beat
 * k - 1. An opening proves TTL from its sending; a reconnection does so with the first beat after
 * it. What has run out is never extended.
 *
 * The sending of beat k would be too late a base, unless the timeout were longer by the time from
 * beat k - 1 to beat k: beat k - 1 may be the last that the leader has heard of.
 *
 * PING is the longest time between two pings: half a tick, and each delay of the leader's own. In
 * whole ticks of the model "more than PING" is PING + 1: what happens in one tick has any order.
 *
 * Mirrors, of ZooKeeper: Leader.lead (pings), LearnerHandler.run, Learner.ping and revalidate,
 * LearnerSessionTracker, SessionTrackerImpl.run (it fetches the sessions that have expired, and
 * ends them later, whatever it has heard meanwhile) and checkSession, LeaderZooKeeperServer.
 *
 * Abstracted: a client at the leader itself (each packet counts there); the rounding of deadlines,
 * up; the drift of clocks; timeouts that differ between servers; a touch that is lost as the
 * follower puts it into the very table that it is sending. A leader that is deposed goes on with
 * all but commits, and its successor gives a session its whole time.
 *
 * Proved: nobody believes in a session that has expired.
 *
 * search beats: safety TTL=7 PING=1 ONLY_BEATS
 * search any_1: safety TTL=4 PING=1
 * search any_2: safety TTL=5 PING=2
 * fault TOO_SHORT of beats: the timeout of the session is less than the TTL
 * fault BASE_OF_ACKNOWLEDGED of beats: the TTL counts from the beat that is acknowledged
 * fault BASE_OF_ONE_BEFORE of beats: it counts from the beat before, and the timeout is PING more
 * fault EARLY_BEAT of beats: a beat does not wait for the acknowledgement of the one before
 * fault CLOSE_BEAT of beats: a beat follows the answer of its touch at once
 * fault SPACED_AS_PINGS of beats: a beat follows the answer of its touch by PING, and not by more
 * fault SPACED_BY_SENDING of beats: it follows the sending of its touch by more than PING
 * fault READ_PROVES of any_1: an answer of the follower alone counts as a proof
 * fault RECONNECT_PROVES of beats: so does a reconnection, by a leader that may be deposed
 * fault SYNC_PROVES of beats: a leader acknowledges beats without a majority
 * fault EXTENDS_AFTER_END of beats: what has run out is extended
 * fault LATE_PING of beats: the leader sends pings when it likes
 */
#ifdef TOO_SHORT
#define TIMEOUT (TTL - 1)
#elif defined(BASE_OF_ONE_BEFORE)
#define TIMEOUT (TTL + PING + 1)
#else
#define TIMEOUT TTL
#endif
#ifdef SPACED_AS_PINGS
#define SPACE PING
#else
#define SPACE (PING + 1)
#endif

mtype = { nothing, open, reconnect, beat, read, ping, touched };

chan to_follower = [2] of { mtype };
chan to_client = [2] of { mtype };
chan to_leader = [3] of { mtype };
chan from_leader = [4] of { mtype };

/* --- the leader ------------------------------------------------------------------------------ */
bool known;
byte left;      /* ticks until the deadline */
bool condemned; /* the deadline has passed, and the session will be ended */
bool expired;
byte until_ping = PING; /* the latest */
bool cut;               /* nothing more arrives at the follower */
bool deposed;           /* the leader of this follower; the other one has the session */

/* --- the follower ---------------------------------------------------------------------------- */
bool heard; /* of the session, since the last ping */

/* --- the client ------------------------------------------------------------------------------ */
mtype waits_for = nothing;
bool opened;
byte belief;             /* ticks that are left of it */
byte sent_age;           /* of what it waits for, from its sending */
byte touch_age = TTL;    /* of a packet that was answered, from its sending; TTL: none */
byte touch_since;        /* from its answer */
byte carried_now = TTL;  /* the age of the touch that the beat under way carries */
byte carried_last = TTL; /* of that which the last acknowledged one carried */
#ifdef EARLY_BEAT
bool two; /* beats are under way */
#endif

inline discard(channel) {
    do
    :: channel?_
    :: empty(channel) -> break
    od
}

/* --- the client's steps ---------------------------------------------------------------------- */
#ifdef EXTENDS_AFTER_END
#define MAY_EXTEND true
#else
#define MAY_EXTEND (belief != 0)
#endif

#ifdef CLOSE_BEAT
#define CARRIES true
#else
#define CARRIES (touch_since == SPACE)
#endif

#ifdef ONLY_BEATS
#define MAY_BEAT CARRIES
#else
#define MAY_BEAT true
#endif

inline extend(age) {
    belief = (MAY_EXTEND && TTL - age > belief -> TTL - age : belief);
    assert(!expired || belief == 0)
}

inline send(packet) {
    to_follower!packet;
    waits_for = packet;
    sent_age = 0
}

inline send_beat() {
    send(beat);
#ifdef BASE_OF_ONE_BEFORE
    carried_now = 0
#else
    carried_now = (CARRIES -> touch_age : carried_last)
#endif
}

/* It knows one touch at a time, and is free to stay with that which it knows. */
inline answered() {
    if
    :: touch_age = sent_age;
#ifdef SPACED_BY_SENDING
        touch_since = (sent_age < SPACE -> sent_age : SPACE)
#else
        touch_since = 0
#endif
#ifndef ONLY_BEATS
    :: true
#endif
    fi;
    waits_for = nothing;
    sent_age = 0
}

/* Another follower, and what was under way is lost. */
inline leave() {
    discard(to_follower);
    discard(to_client);
    discard(to_leader);
    discard(from_leader);
    heard = false;
    cut = false;
    touch_age = TTL;
    touch_since = 0;
    carried_now = TTL;
    carried_last = TTL;
    if
    :: deposed = false
    :: deposed = true
    fi
}

active proctype client() {
    atomic { send(open) };
end:
    do
    :: atomic { to_client?open ->
        belief = TTL - sent_age;
        assert(!expired || belief == 0);
        opened = true;
        carried_last = sent_age;
        waits_for = nothing;
        sent_age = 0 }
    :: atomic { opened && !expired ->
        leave();
#ifdef EARLY_BEAT
        two = false;
#endif
        send(reconnect) }
    :: atomic { to_client?reconnect ->
#ifdef RECONNECT_PROVES
        extend(sent_age);
#endif
        carried_last = sent_age;
        waits_for = nothing;
        sent_age = 0 }
#ifndef ONLY_BEATS
    :: atomic { waits_for == nothing && opened && !expired -> send(read) }
    :: atomic { to_client?read ->
#ifdef READ_PROVES
        extend(sent_age);
#endif
        answered() }
#endif
    :: atomic { waits_for == nothing && opened && !expired && MAY_BEAT -> send_beat() }
#ifdef EARLY_BEAT
    :: atomic { waits_for == beat && !two && sent_age >= SPACE && !expired ->
        two = true;
        carried_last = carried_now;
        send_beat() }
    :: atomic { two && to_client?[beat] -> to_client?beat; two = false }
    :: atomic { !two && to_client?[beat] -> to_client?beat;
#else
    :: atomic { to_client?beat ->
#endif
#ifdef BASE_OF_ACKNOWLEDGED
        extend(sent_age);
#else
        extend(carried_last);
#endif
        carried_last = carried_now;
        carried_now = TTL;
        answered() }
    od
}

active proctype follower() {
end:
    do
    :: atomic { to_follower?read -> heard = true; to_client!read }
    :: atomic { to_follower?[beat] && nfull(to_leader) ->
        to_follower?beat; heard = true; to_leader!beat }
    :: atomic { to_follower?[open] -> to_follower?open; to_leader!open }
    :: atomic { to_follower?[reconnect] -> to_follower?reconnect; to_leader!reconnect }
    :: atomic { from_leader?[ping] && nfull(to_leader) ->
        from_leader?ping;
        if
        :: heard -> heard = false; to_leader!touched
        :: else /* an answer that says nothing of the session */
        fi }
    :: atomic { from_leader?open -> to_client!open }
    :: atomic { from_leader?reconnect -> to_client!reconnect }
    :: atomic { from_leader?beat -> to_client!beat }
    od
}

inline tell(message) {
    if
    :: !cut && nfull(from_leader) -> from_leader!message
    :: cut = true
    fi
}

#ifdef SYNC_PROVES
#define COMMITS (deposed || !expired)
#else
#define COMMITS (!deposed && !expired)
#endif

active proctype leader() {
end:
    do
    :: atomic { to_leader?open -> known = true; left = TIMEOUT; tell(open) }
    :: atomic { to_leader?reconnect ->
        if
        :: deposed -> tell(reconnect)
        :: !deposed && !expired -> left = TIMEOUT; tell(reconnect)
        :: else
        fi }
    :: atomic { to_leader?touched ->
        if
        :: !deposed && !expired -> left = TIMEOUT
        :: else
        fi }
    :: atomic { to_leader?beat ->
        if
        :: COMMITS -> tell(beat)
        :: else
        fi }
    :: atomic { until_ping < PING -> until_ping = PING; tell(ping) }
    :: atomic { known && left == 0 && !condemned -> condemned = true }
    :: atomic { condemned && !expired -> expired = true; assert(belief == 0) }
    /* another one: the election comes after all that this one has committed */
    :: atomic { known && !expired -> deposed = true; condemned = false; left = TIMEOUT }
    od
}

#define OLDER(age) age = (age < TTL -> age + 1 : TTL)

active proctype clock() {
end:
    do
    :: atomic {
#ifndef LATE_PING
        until_ping != 0 &&
#endif
        !expired ->
        until_ping = (until_ping != 0 -> until_ping - 1 : 0);
        left = (left != 0 -> left - 1 : 0);
        belief = (belief != 0 -> belief - 1 : 0);
        if
        :: waits_for != nothing -> OLDER(sent_age)
        :: else
        fi;
        OLDER(touch_age);
        OLDER(carried_now);
        OLDER(carried_last);
        touch_since = (touch_since < SPACE -> touch_since + 1 : SPACE) }
    od
}
