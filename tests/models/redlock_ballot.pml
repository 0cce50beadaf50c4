/* SPDX-License-Identifier: BSL-1.0
 *
 * A lock at independent servers, the nodes: Redlock, with a fencing token from a ballot of one
 * round.
 *
 * A ballot is a guess and a nonce, which go to all nodes. A node votes for the ballot if nobody has
 * its vote and its counter is below the guess; the guess then is its counter. The window of a
 * ballot begins at its sending, and ends before the deadline of each vote for it. A majority of
 * votes that are heard of within the window is the grant, and the guess is the token. The client
 * withdraws any other ballot from all nodes, and may try again with another nonce.
 *
 * The rules, each of which is needed, as the faults below show:
 *
 * 1. A renewal extends a vote where it still is, and never makes one. Its window counts only if a
 *    majority of nodes that had the vote have acknowledged it.
 * 2. A withdrawal and a release compare the nonce, and raise the counter to the guess. A request
 *    that comes after its withdrawal is refused then: the counter is the tombstone. Otherwise it
 *    gets a vote that nobody wants. Its deadline ends such a vote; but if the heartbeats of a
 *    session keep all votes of a client, then nothing does.
 * 3. A counter has no deadline and never falls. If the counters survive each restart, then tokens
 *    grow whatever the clocks do and however many votes are forgotten.
 * 4. A node that may have forgotten votes gives none until the windows of these have ended: for the
 *    longest TTL from its start. This holds also if its counter has survived.
 * 5. A node that may have forgotten its counter reads, before it votes again, the counters of as
 *    many other nodes as make a majority without it. It reads after its quarantine, and not during
 *    it: until the end of the quarantine a ballot may still be granted by a vote that was
 *    forgotten. A node that does not know its own counter tells none, and a reading for an earlier
 *    start does not count. So no node can come back by itself once two of three, or three of five,
 *    do not know their counters. With this rule tokens are only as good as the clocks: the end of
 *    a window is all that makes votes of before the start void.
 *
 * Mirrors: redlock_ask.lua (vote), redlock_free.lua (withdraw), redlock_beat.lua (renew, counters
 * that are forgotten below a floor), redlock_open.lua (restart, quarantine) and redlock_restore.lua
 * (read_counter) in lib/src/store/redis/lua; lib/src/store/redlock/ballot.cpp (win),
 * granting_sets.cpp (whose renewals count), node_group.cpp (restore).
 *
 * Abstracted: a message arrives at any later time and any number of times, or never; so an answer
 * that is lost and given again is one that comes late. A refusal has no effect: it tells a client
 * which guess is better, and here a client may make any guess, also that of another client. Clocks
 * run alike (session_expiry.pml). A client whose window has ended may believe again, by a renewal.
 * There is one renewal of a ballot, and there are two restarts. A node that starts with an older
 * copy takes nothing from it. Nodes do not know each other, so clients will carry the counters from
 * one to another; here a node reads them.
 *
 * Proved: at most one client believes that it has the lock, and the tokens of those who believe so
 * grow. With any clocks, no token is granted twice, and the token of a grant is above each one that
 * was granted before its ballot was sent. In the end nobody has a vote, and all nodes vote again,
 * unless too many have forgotten their counters at once.
 *
 * search ballots: safety CLIENTS=3
 * search rounds: safety CLIENTS=2 ROUNDS=2 RENEWALS=0 DEADLINE_ENDS_LATE_VOTES
 * search five: safety CLIENTS=2 NODES=5
 * search any_clock: safety CLIENTS=3 ANY_CLOCK
 * search sessions: safety CLIENTS=2 SESSION_KEEPS
 * search durable: safety CLIENTS=2 RESTARTS=2 KEEPS_COUNTER
 * search empty: safety CLIENTS=2 RESTARTS=2
 * search empty_three: safety CLIENTS=3 RESTARTS=1 RENEWALS=0 DEADLINE_ENDS_LATE_VOTES
 * search empty_five: safety CLIENTS=2 NODES=5 RESTARTS=1 RENEWALS=0 DEADLINE_ENDS_LATE_VOTES
 * fault NO_COUNTER_CHECK of ballots: a node votes for any guess
 * fault EQUAL_GUESS_TAKEN of ballots: it votes also for a guess that is equal to its counter
 * fault COUNTER_EXPIRES of ballots: the counter goes when the vote expires
 * fault MINORITY_SUFFICES of ballots: one vote less than a majority makes a grant
 * fault WINDOW_FROM_RECEIPT of ballots: the window of a grant begins when its votes are heard of
 * fault RELEASE_WITHOUT_COMPARE of ballots: a withdrawal takes the vote of whoever has it
 * fault RENEWAL_CREATES of ballots: a renewal makes a vote where there is none
 * fault ANY_NODE_RENEWS of ballots: a node acknowledges a renewal without having the vote
 * fault NO_COUNTER_CHECK of any_clock: a node votes for any guess
 * fault COUNTER_READ_BACK of any_clock: a node forgets its counter, and reads those of others
 * fault DEADLINE_ENDS_LATE_VOTES of sessions: a withdrawal does not raise the counter
 * fault DEAD_KEEP_VOTES of sessions: the votes of a dead client have no deadline
 * fault NO_QUARANTINE of durable: a node that has forgotten its vote votes at once
 * fault NO_QUARANTINE of empty: a node that has forgotten its counter reads others at once
 * fault COUNTER_LOST of empty: a node votes with a counter that begins at zero
 * fault READS_EARLY of empty: a node reads during its quarantine
 * fault TOO_FEW_READ of empty: a node counts itself to the majority that it reads
 * fault TOO_FEW_READ of empty_five: the same with five nodes
 * fault EMPTY_NODE_TELLS of empty: a node tells a counter that it does not know
 * fault EARLIER_READ_COUNTS of empty: a reading for an earlier start counts
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef RENEWALS
#define RENEWALS 1
#endif
#ifdef COUNTER_READ_BACK
#define RESTARTS 1
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif

#define MAJORITY (NODES / 2 + 1)
#define BALLOTS (CLIENTS * ROUNDS)
#define NOBODY BALLOTS

/* Sets of nodes, a bit each. */
#define ONLY(n) (1 << (n))
#define ALL (ONLY(NODES) - 1)
#define HAS(set, n) (((set) >> (n)) & 1)
#if NODES == 3
#define SIZE(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2))
#else
#define SIZE(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2) + HAS(set, 3) + HAS(set, 4))
#endif

/* Something about each ballot; and b becomes any one of those that may take a step. */
#if BALLOTS == 2
#define EACH(what, of) (of(0) what of(1))
#define ANY_THAT(may) if :: may(0) -> b = 0 :: may(1) -> b = 1 fi
#elif BALLOTS == 3
#define EACH(what, of) (of(0) what of(1) what of(2))
#define ANY_THAT(may) if :: may(0) -> b = 0 :: may(1) -> b = 1 :: may(2) -> b = 2 fi
#else
#define EACH(what, of) (of(0) what of(1) what of(2) what of(3))
#define ANY_THAT(may) \
    if :: may(0) -> b = 0 :: may(1) -> b = 1 :: may(2) -> b = 2 :: may(3) -> b = 3 fi
#endif

mtype:ballot_state = { unsent, asked, won, over };

/* --- the nodes ------------------------------------------------------------------------------- */

byte counter[NODES];
byte voted[NODES] = NOBODY; /* for this ballot */
bool extended[NODES];       /* the vote, by the renewal */
bool quarantine[NODES];
byte read[NODES] = ALL; /* the nodes whose counters it has read: all, once they are enough */
byte restarts;

/* --- the ballots; those of one client one after the other ------------------------------------ */

mtype:ballot_state ballot[BALLOTS] = unsent;
byte guess[BALLOTS];
byte yes[BALLOTS];     /* the nodes that have voted for it */
bool renewal[BALLOTS]; /* it is sent */
byte renewed[BALLOTS]; /* the nodes that have extended their vote */
bool proved[BALLOTS];  /* a majority of them was heard */
byte ended[BALLOTS];   /* how many windows: that of the request, and that of the renewal */
bool dead[CLIENTS];
#ifdef SESSION_KEEPS
byte withdrawn[BALLOTS]; /* at these nodes */
#endif

/* --- what must stay so ----------------------------------------------------------------------- */

byte highest; /* of all tokens that were granted */
#ifdef ANY_CLOCK
byte before[BALLOTS]; /* the highest one when the ballot was sent */
byte granted;         /* all tokens */
#define LASTS(b, window) true
#else
#define LASTS(b, window) (ended[b] <= (window))
#endif

#define BELIEVES(b) (ballot[b] == won && LASTS(b, proved[b]))
#define ONE_IF_BELIEVES(b) (BELIEVES(b) -> 1 : 0)

/* --- a node ---------------------------------------------------------------------------------- */

#define KNOWS(n) (read[n] == ALL)
#define VOTES(n) (!quarantine[n] && KNOWS(n))

#ifdef NO_COUNTER_CHECK
#define IS_ABOVE(b) true
#elif defined(EQUAL_GUESS_TAKEN)
#define IS_ABOVE(b) (guess[b] >= counter[_pid])
#else
#define IS_ABOVE(b) (guess[b] > counter[_pid])
#endif

#define MAY_VOTE(b) (ballot[b] != unsent && voted[_pid] == NOBODY && VOTES(_pid) && IS_ABOVE(b))

inline vote() {
    voted[_pid] = b;
    counter[_pid] = guess[b];
    yes[b] = (ballot[b] == asked && LASTS(b, 0) -> yes[b] | ONLY(_pid) : yes[b])
}

#ifdef RENEWAL_CREATES
#define HAS_VOTE(b) (voted[_pid] == (b) || voted[_pid] == NOBODY)
#elif defined(ANY_NODE_RENEWS)
#define HAS_VOTE(b) true
#else
#define HAS_VOTE(b) (voted[_pid] == (b))
#endif
#define MAY_RENEW(b) (renewal[b] && HAS_VOTE(b) && LASTS(b, 1) && !HAS(renewed[b], _pid))

inline renew() {
    renewed[b] = renewed[b] | ONLY(_pid);
#ifdef RENEWAL_CREATES
    voted[_pid] = b;
#endif
    extended[_pid] = (voted[_pid] == b -> true : extended[_pid])
}

inline raise(t) {
    counter[_pid] = (counter[_pid] < t -> t : counter[_pid])
}

inline forget_vote() {
    voted[_pid] = NOBODY; extended[_pid] = false
}

#ifdef DEADLINE_ENDS_LATE_VOTES
#define RAISES(b) false
#else
#define RAISES(b) (guess[b] > counter[_pid])
#endif
#ifdef RELEASE_WITHOUT_COMPARE
#define IS_FREED_BY(b) (voted[_pid] != NOBODY)
#else
#define IS_FREED_BY(b) (voted[_pid] == (b))
#endif
/* It is sent until the node has answered: once, where that matters, and otherwise ever again. */
#ifdef SESSION_KEEPS
#define MAY_WITHDRAW(b) (ballot[b] == over && !HAS(withdrawn[b], _pid))
#else
#define MAY_WITHDRAW(b) (ballot[b] == over && (IS_FREED_BY(b) || RAISES(b)))
#endif

inline withdraw() {
    if
    :: IS_FREED_BY(b) -> forget_vote()
    :: else
    fi;
    if
    :: RAISES(b) -> counter[_pid] = guess[b]
    :: else
    fi;
#ifdef SESSION_KEEPS
    withdrawn[b] = withdrawn[b] | ONLY(_pid)
#endif
}

/* Its deadline may have passed. If a session keeps the votes, then only after its death. */
#define IS_UNWANTED(b) (voted[_pid] == (b) && (ballot[b] == over || !LASTS(b, extended[_pid])))
#ifdef ANY_CLOCK
#define MAY_EXPIRE(b) (voted[_pid] == (b))
#elif defined(DEAD_KEEP_VOTES)
#define MAY_EXPIRE(b) false
#elif defined(SESSION_KEEPS)
#define MAY_EXPIRE(b) (IS_UNWANTED(b) && dead[(b) / ROUNDS])
#else
#define MAY_EXPIRE(b) IS_UNWANTED(b)
#endif

inline restart() {
    restarts++;
    forget_vote();
#ifndef NO_QUARANTINE
    quarantine[_pid] = true;
#endif
#ifndef KEEPS_COUNTER
    counter[_pid] = 0;
#ifdef EARLIER_READ_COUNTS
    read[_pid] = (KNOWS(_pid) -> 0 : read[_pid]);
#elif !defined(COUNTER_LOST)
    read[_pid] = 0
#endif
#endif
}

/* A TTL is over, and with it each window that the node has said yes to. */
#ifdef ANY_CLOCK
#define IS_PAST(b) true
#else
#define IS_PAST(b) (!(HAS(yes[b], _pid) && LASTS(b, 0)) && !(HAS(renewed[b], _pid) && LASTS(b, 1)))
#endif

#ifdef READS_EARLY
#define READS (!KNOWS(_pid))
#else
#define READS (!KNOWS(_pid) && !quarantine[_pid])
#endif
#ifdef EMPTY_NODE_TELLS
#define TELLS(n) (READS && n != _pid && !HAS(read[_pid], n))
#else
#define TELLS(n) (READS && n != _pid && !HAS(read[_pid], n) && KNOWS(n))
#endif
#ifdef TOO_FEW_READ
#define ENOUGH (MAJORITY - 1)
#else
#define ENOUGH MAJORITY
#endif

inline read_counter() {
    raise(counter[n]);
    read[_pid] = read[_pid] | ONLY(n);
    read[_pid] = (SIZE(read[_pid]) >= ENOUGH -> ALL : read[_pid])
}

active [NODES] proctype node() {
    byte b, n;
end:
    do
    :: atomic { ANY_THAT(MAY_VOTE); vote(); b = 0 }
    :: atomic { ANY_THAT(MAY_WITHDRAW); withdraw(); b = 0 }
    :: atomic { ANY_THAT(MAY_EXPIRE);
        forget_vote();
#ifdef COUNTER_EXPIRES
        counter[_pid] = 0;
#endif
        b = 0 }
#if RENEWALS == 1
    :: atomic { ANY_THAT(MAY_RENEW); renew(); b = 0 }
#endif
#if RESTARTS > 0
    :: atomic { restarts < RESTARTS -> restart() }
    :: atomic { quarantine[_pid] && EACH(&&, IS_PAST) -> quarantine[_pid] = false }
#ifndef KEEPS_COUNTER
    :: atomic {
        if
        :: TELLS(0) -> n = 0
        :: TELLS(1) -> n = 1
        :: TELLS(2) -> n = 2
#if NODES == 5
        :: TELLS(3) -> n = 3
        :: TELLS(4) -> n = 4
#endif
        fi;
        read_counter(); n = 0 }
#endif
#endif
    od
}

/* --- a client -------------------------------------------------------------------------------- */

/* There are as many numbers as ballots: with more of them, no other order could come about. */
inline send_ballot() {
    if
    :: guess[b] = 1
    :: guess[b] = 2
    :: guess[b] = BALLOTS - 1
    :: guess[b] = BALLOTS
    fi;
    ballot[b] = asked;
#ifdef ANY_CLOCK
    before[b] = highest
#endif
}

/* The clients are alike, so only one order of their first ballots is searched. */
#define MAY_SEND(b) (ballot[b] == unsent && (b < ROUNDS || ballot[b - ROUNDS] != unsent))

#ifdef MINORITY_SUFFICES
#define SUFFICE (MAJORITY - 1)
#else
#define SUFFICE MAJORITY
#endif
#ifdef WINDOW_FROM_RECEIPT
#define HEARD_IN_TIME(b) true
#else
#define HEARD_IN_TIME(b) LASTS(b, 0)
#endif
#define MAY_WIN(b) (ballot[b] == asked && SIZE(yes[b]) >= SUFFICE && HEARD_IN_TIME(b))

inline win() {
    ballot[b] = won;
#ifdef WINDOW_FROM_RECEIPT
    ended[b] = 0;
#endif
#ifdef ANY_CLOCK
    assert(guess[b] > before[b] && !HAS(granted, guess[b]));
    granted = granted | ONLY(guess[b]);
    highest = (highest < guess[b] -> guess[b] : highest);
#else
    assert(EACH(+, ONE_IF_BELIEVES) <= 1);
    assert(guess[b] > highest);
    highest = guess[b];
#endif
#if RESTARTS == 0
    yes[b] = 0 /* only a quarantine would still ask for it */
#endif
}

#define MAY_PROVE(b) (!proved[b] && SIZE(renewed[b]) >= MAJORITY && LASTS(b, 1))

inline prove() {
    proved[b] = true;
    assert(EACH(+, ONE_IF_BELIEVES) <= 1);
    assert(guess[b] == highest)
}

/* Its windows no longer count, and a late renewal finds at most a vote that nobody wants. */
inline end_ballot() {
    ballot[b] = over;
    yes[b] = 0; renewal[b] = false; renewed[b] = 0; proved[b] = false; ended[b] = 0;
#ifdef ANY_CLOCK
    before[b] = 0
#endif
}

active [CLIENTS] proctype client() {
    byte b = (_pid - NODES) * ROUNDS;
end:
    do
    :: atomic { MAY_SEND(b) -> send_ballot() }
    :: atomic { MAY_WIN(b) -> win() }
#if RENEWALS == 1 && !defined(ANY_CLOCK)
    :: atomic { ballot[b] == won && !renewal[b] -> renewal[b] = true }
    :: atomic { MAY_PROVE(b) -> prove() }
#endif
    :: atomic { ballot[b] == asked || ballot[b] == won -> /* given up, lost, released */
        end_ballot();
        if
        :: (b + 1) % ROUNDS != 0 -> b++
        :: else -> break
        fi }
#ifdef SESSION_KEEPS
    :: atomic { ballot[b] != unsent -> dead[_pid - NODES] = true; break }
#endif
    od
}

/* --- time ------------------------------------------------------------------------------------ */

#define MAY_END(b) ((ballot[b] == asked || ballot[b] == won) && ended[b] < 1 + renewal[b])

inline end_window() {
    ended[b]++;
#ifndef WINDOW_FROM_RECEIPT
    yes[b] = 0;
#endif
    renewed[b] = (ended[b] == 1 -> renewed[b] : 0)
}

#define IS_READY(n) (voted[n] == NOBODY && VOTES(n))

active proctype clock() {
    byte b;
end:
    do
#ifndef ANY_CLOCK
    :: atomic { ANY_THAT(MAY_END); end_window(); b = 0 }
#endif
    :: atomic { timeout -> /* nothing is left to be done */
        assert(voted[0] == NOBODY && voted[1] == NOBODY && voted[2] == NOBODY);
        assert(voted[NODES - 2] == NOBODY && voted[NODES - 1] == NOBODY);
#if RESTARTS < 2 || defined(KEEPS_COUNTER)
        assert(VOTES(0) && VOTES(1) && VOTES(2) && VOTES(NODES - 2) && VOTES(NODES - 1));
#endif
        break }
    od
}
