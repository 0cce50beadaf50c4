/* SPDX-License-Identifier: BSL-1.0
 *
 * The queue of one lock at the store: pushes that get lost or come late, change numbers,
 * heartbeats that look again, a process that dies, a grant that is broken by force, releases whose
 * answer is lost, a quarantine that ends.
 *
 * Mirrors: lock_engine::request, release, break_grants, grant_next and bury_gone;
 * memory_state::beat, reap, push and wake_after_quarantine (as sqlite_state::reap_now and
 * commit_news::tell); session_keeper.cpp (run_beat, beaten), reconciler.cpp (take_snapshot,
 * compare), claims::granted and send_request, client_core::on_alarm, releases.cpp (run_release,
 * try_later).
 *
 * Abstracted: connections and lost answers of requests (request_withdraw.pml); deadlines
 * (session_expiry.pml): who lives is never taken for dead, who died expires at some later moment,
 * and a heartbeat that would find nothing is no step. One exclusive lock, one coroutine a client.
 * Only who waits reaps, although everybody's heartbeat does.
 *
 * Proved: of those who believe that they hold the lock, but for one whose grant was broken and who
 * could not know yet, there is at most one. Every run ends, and then everybody who lives was
 * served, and who held a broken grant was told.
 *
 * search crash: safety
 * search rounds: safety CLIENTS=2 ROUNDS=2
 * search break: safety BREAK
 * search break_rounds: safety BREAK CLIENTS=2 ROUNDS=2
 * search quarantine: safety QUARANTINE CLIENTS=2
 * search ends: cycles
 * fault NO_LOOK_AGAIN of crash: a heartbeat that finds a difference does not look
 * fault RELEASE_WITHOUT_COMPARE of crash: a release frees whoever holds the lock
 * fault ONLY_HEAD_HAS_TIMER of crash: only who comes first in the queue waits for deaths
 * fault COUNTS_NOT_COMPARED of break: a heartbeat compares the change number only
 * fault ASKS_AGAIN_BY_OLD_ID of break: who is found missing asks again by the same id
 * fault NOBODY_WAKES of quarantine: no timer is set for the end of the quarantine
 */
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define NOBODY CLIENTS

mtype:session_state = { lives, crashed, expired, buried };
mtype:wish_state = { thinking, waits, held };
mtype:hint_kind = { granted, look_again };
mtype:look_state = { none, asked, seen };
mtype:release_state = { settled, unsent, unanswered };

/* --- the store: the rows of one lock, and what it knows of sessions -------------------------- */

byte holder = NOBODY, holder_id, holder_token, last_token;
chan queue = [CLIENTS] of { byte, byte };
mtype:session_state session[CLIENTS] = lives;
bool changed[CLIENTS]; /* the change number has grown since the last look */
chan pushes[CLIENTS] = [2] of { mtype:hint_kind, byte, byte };

#ifdef BREAK
bool may_crash = false, may_break = true, may_lose_answer = true;
#else
bool may_crash = true, may_break = false, may_lose_answer = true;
#endif
#ifdef QUARANTINE
bool quarantine = true, woken = false; /* the store has just started without its memory */
#else
bool quarantine = false, woken = true;
#endif

/* --- the clients ----------------------------------------------------------------------------- */

mtype:wish_state wish[CLIENTS] = thinking;
byte id[CLIENTS], token[CLIENTS], last_id[CLIENTS];
byte rounds[CLIENTS] = ROUNDS;
#ifdef ONLY_HEAD_HAS_TIMER
bool head[CLIENTS];
#endif

/* Whose grant of this id was broken by force, and who has not looked since. */
byte broken_id[CLIENTS];

#define GONE(c) (session[c] == expired || session[c] == buried)

/* memory_state::push */
inline push(c, hint, i, t) {
    if
    :: session[c] == lives && nfull(pushes[c]) -> pushes[c]!hint, i, t
    :: true /* lost */
    fi
}

/* lock_engine::grant_next; a wish of somebody who is gone is found on the way */
inline grant_next(actor) {
    do
    :: holder == NOBODY && !quarantine && nempty(queue) ->
        queue?other, other_id;
        if
        :: GONE(other)
        :: else ->
            holder = other; holder_id = other_id;
            last_token++; holder_token = last_token;
            if
            :: other != actor -> changed[other] = true
            :: else
            fi;
            push(other, granted, other_id, last_token)
        fi
    :: holder != NOBODY || quarantine || empty(queue) -> break
    od;
    other = 0; other_id = 0
}

/* lock_engine::request */
inline do_request() {
    grant_next(me);
    if
    :: holder == NOBODY && !quarantine ->
        last_token++;
        holder = me; holder_id = id[me]; holder_token = last_token;
        accept(last_token)
    :: else ->
#ifdef ONLY_HEAD_HAS_TIMER
        head[me] = empty(queue);
#endif
        queue!me, id[me];
        wish[me] = waits
    fi
}

/* lock_engine::release */
inline do_release() {
    if
#ifdef RELEASE_WITHOUT_COMPARE
    :: holder != NOBODY ->
#else
    :: holder == me && holder_id == released_id && holder_token == released_token ->
#endif
        holder = NOBODY;
        grant_next(me)
    :: else
    fi
}

/* memory_state::reap, lock_engine::bury_gone */
inline reap() {
    other = 0;
    do
    :: other < CLIENTS && session[other] != expired -> other++
    :: other < CLIENTS && session[other] == expired ->
        session[other] = buried;
        do
        :: queue??[eval(other), _] -> queue??eval(other), _
        :: !queue??[eval(other), _] -> break
        od;
        if
        :: holder == other -> holder = NOBODY
        :: else
        fi
    :: other == CLIENTS -> break
    od;
    grant_next(NOBODY)
}

#define EXPIRED(c) (session[c] == expired)
#define SOMEBODY_EXPIRED (EXPIRED(0) || EXPIRED(1) || EXPIRED(CLIENTS - 1))

/* A believer who is not excused. */
#define BELIEVES(c) (wish[c] == held && id[c] != broken_id[c])
#define ONE_IF_BELIEVES(c) (BELIEVES(c) -> 1 : 0)
#if CLIENTS == 2
#define BELIEVERS (ONE_IF_BELIEVES(0) + ONE_IF_BELIEVES(1))
#else
#define BELIEVERS (ONE_IF_BELIEVES(0) + ONE_IF_BELIEVES(1) + ONE_IF_BELIEVES(2))
#endif

/* acquire_fsm::accept */
inline accept(t) {
    wish[me] = held;
    token[me] = t;
    assert(BELIEVERS <= 1)
}

inline ask() {
    last_id[me]++;
    id[me] = last_id[me];
    do_request()
}

/* reconciler::start */
inline look_now() {
    if
    :: look == none -> look = asked; snap_wish = wish[me]; snap_id = id[me]
    :: else -> look_wanted = true
    fi
}

/* reconciler::compare: only what stood here before the question is judged by the answer */
inline compare() {
    look = none;
    if
    :: wish[me] == waits && view_token != 0 && view_id == id[me] -> /* see */
        accept(view_token)
    :: wish[me] == waits && snap_wish == waits && snap_id == id[me] && view_id != id[me] &&
       !view_queued -> /* acquire_fsm::missing, claims::send_request */
        broken_id[me] = 0;
#ifdef ASKS_AGAIN_BY_OLD_ID
        do_request()
#else
        ask()
#endif
    :: wish[me] == held && snap_wish == held && snap_id == id[me] &&
       !(view_id == id[me] && view_token == token[me]) -> /* lost */
        wish[me] = thinking; rounds[me]--; broken_id[me] = 0
    :: else
    fi;
    snap_wish = 0; snap_id = 0; view_id = 0; view_token = 0; view_queued = false;
    if
    :: look_wanted -> look_wanted = false; look_now()
    :: else
    fi
}

/* session_keeper::beaten: what the heartbeat says differs from what is known here */
#define COUNTS_DIFFER \
    (released == settled && \
     ((holder == me) != (wish[me] == held) || \
      (holder == me || queue??[eval(me), _]) != (wish[me] != thinking)))
#if defined(NO_LOOK_AGAIN)
#define MISMATCH false
#elif defined(COUNTS_NOT_COMPARED)
#define MISMATCH (changed[me])
#else
#define MISMATCH (changed[me] || COUNTS_DIFFER)
#endif
#ifdef ONLY_HEAD_HAS_TIMER
#define HAS_TIMER (wish[me] == waits && head[me])
#else
#define HAS_TIMER (wish[me] == waits)
#endif

active [CLIENTS] proctype client() {
    byte me = _pid;
    byte other, other_id, i, t;
    mtype:hint_kind what;
    mtype:release_state released = settled;
    byte released_id, released_token;
    mtype:look_state look = none;
    bool look_wanted;
    mtype:wish_state snap_wish;
    byte snap_id;
    byte view_id, view_token;
    bool view_queued;

end:
    do
    :: atomic { wish[me] == thinking && rounds[me] != 0 && released != unsent -> ask() }
    :: atomic { BELIEVES(me) && released == settled -> /* releases::start */
        released = unsent; released_id = id[me]; released_token = token[me];
        wish[me] = thinking; rounds[me]-- }
    :: atomic { released != settled -> /* releases::run_release */
        do_release();
        if
        :: released = settled; released_id = 0; released_token = 0
        :: may_lose_answer -> may_lose_answer = false; released = unanswered
        fi }
    :: atomic { pushes[me]?what, i, t -> /* claims::granted */
        if
        :: what == look_again -> look_now()
        :: what == granted && wish[me] == waits && id[me] == i -> accept(t)
        :: else
        fi;
        what = 0; i = 0; t = 0 }
    :: atomic { HAS_TIMER && SOMEBODY_EXPIRED -> reap() } /* client_core::on_alarm, reap_at_ */
#ifndef NOBODY_WAKES
    :: atomic { HAS_TIMER && !quarantine && !woken -> woken = true; grant_next(NOBODY) }
#endif
    :: atomic { look == none && MISMATCH -> look_now() } /* session_keeper::beaten */
    :: atomic { look == asked -> /* memory_state::look */
        look = seen;
        changed[me] = false;
        view_queued = queue??[eval(me), eval(snap_id)];
        if
        :: holder == me -> view_id = holder_id; view_token = holder_token
        :: else
        fi }
    :: atomic { look == seen -> compare() }
    :: atomic { may_crash -> /* and nothing of it is heard any more */
        may_crash = false;
        session[me] = crashed;
        wish[me] = thinking; rounds[me] = 0; broken_id[me] = 0;
        do
        :: nempty(pushes[me]) -> pushes[me]?_, _, _
        :: empty(pushes[me]) -> break
        od;
        break }
    od
}

active proctype fate() {
    byte other, other_id;
end:
    do
    :: atomic { session[0] == crashed -> session[0] = expired }
    :: atomic { session[1] == crashed -> session[1] = expired }
    :: atomic { session[CLIENTS - 1] == crashed -> session[CLIENTS - 1] = expired }
    :: quarantine -> quarantine = false
    :: atomic { may_break && holder != NOBODY && session[holder] == lives ->
        /* lock_engine::break_grants, take_away */
        may_break = false;
        broken_id[holder] = holder_id;
        changed[holder] = true;
        push(holder, look_again, 0, 0);
        holder = NOBODY;
        grant_next(NOBODY) }
    :: atomic { timeout -> /* nothing is left to be done */
        assert(rounds[0] == 0 && rounds[1] == 0 && rounds[CLIENTS - 1] == 0);
        assert(empty(queue));
        break }
    od
}
