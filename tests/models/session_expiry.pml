/* SPDX-License-Identifier: BSL-1.0
 *
 * The life of a session in time: heartbeats that are under way for any time, a clock that differs
 * in rate from the store's, a process that stops at any moment and for any time, and a store that
 * gives away what a dead session held.
 *
 * One client with one session after the other; everybody else is whoever has the lock when the
 * client has not. What is proved is that the client never believes in a lock that the store does
 * not have for it. It holds for each client, so no two believe at the same time.
 *
 * Mirrors: session_fsm::proved and at, held_grant::state, session_keeper.cpp (run_open, run_beat,
 * beaten, proved, lose, abandon), acquire_fsm::accept and proved; memory_state::resume,
 * beat and enter; own_session::extend and sqlite_state::reap_now (a heartbeat and a death are
 * swaps of one word, of which one wins); lock_engine::grant_next and bury_gone.
 *
 * Abstracted: a tick of the store's clock is one of the client's, too, but for one in TTL ticks
 * that the client's clock may miss: the drift that the window allows for. A fast clock only ends
 * the window sooner. Connections, lost answers of requests, withdrawals: request_withdraw.pml.
 * `hold_max`, which ends a grant and not a session.
 *
 * search ttl_5: safety TTL=5
 * search ttl_8: safety TTL=8
 * fault DEADLINE_FROM_RECEIPT of ttl_5: the window begins when the answer comes
 * fault HEARTBEAT_REVIVES of ttl_5: a heartbeat brings a dead session back
 * fault DRIFT_IGNORED of ttl_5: the window is the whole TTL, whatever the clocks do
 * fault BELIEF_BY_TIMER of ttl_5: a lease is held until a timer says otherwise
 * fault REAPS_WITHOUT_COMPARE of ttl_5: a session is declared dead that was extended meanwhile
 */
#ifdef DRIFT_IGNORED
#define WINDOW TTL
#else
#define WINDOW (TTL - 1) /* ttl x (1 - drift), session_timing::from */
#endif

mtype:proof_call = { not_sent, sent, good, lost };
mtype:wish_state = { thinking, waits, unproved, granted };
mtype:who = { nobody, client_has, others_have };

/* --- the store ------------------------------------------------------------------------------- */

bool known, alive; /* the session; one that is gone stays known and dead */
byte left;         /* ticks until its deadline */
bool suspected;    /* somebody saw that it has expired, and did not act on it yet */
bool queued;       /* its request stands in the queue */
mtype:who holder = nobody;

/* --- the client ------------------------------------------------------------------------------ */

mtype:wish_state wish = thinking;
bool opened, over;
byte age = WINDOW;     /* of the last good proof, from its sending, by the client's clock */
byte proof_age;        /* of the proof that is under way, in the same way */
byte until_miss;       /* ticks until the client's clock may miss another one */
mtype:proof_call proof = not_sent;
bool requested, released; /* commands on their way */
bool told;                /* the answer or the push of a grant, on its way */

#define SURE (age < WINDOW) /* session_fsm::at: read from the clock, not told by a timer */
#ifdef BELIEF_BY_TIMER
#define BELIEVES (wish == granted)
#else
#define BELIEVES (wish == granted && SURE)
#endif

/* lock_engine::grant_next. Who else waits, and when the others come, is left open. */
inline advance() {
    if
    :: queued && left != 0 -> queued = false; holder = client_has; told = !over
    :: holder = others_have
    :: holder = nobody
    fi
}

inline take_away() {
    assert(!BELIEVES);
    advance()
}

/* lock_engine::bury_gone */
inline bury() {
    alive = false; left = 0; suspected = false; queued = false;
    if
    :: holder == client_has -> take_away()
    :: else
    fi
}

/* memory_state::resume, beat and enter, own_session::extend. A session that has expired but was
 * not declared dead goes on at some stores, and at others dies now.
 */
inline prove() {
    if
    :: !known -> known = true; alive = true; left = TTL; proof = good
    :: known && alive ->
#ifndef REAPS_WITHOUT_COMPARE
        suspected = false;
#endif
        left = TTL; proof = good
    :: known && alive && left == 0 -> bury(); proof = lost
    :: known && !alive ->
#ifdef HEARTBEAT_REVIVES
        alive = true; left = TTL; proof = good
#else
        proof = lost
#endif
    fi
}

/* acquire_fsm::accept */
inline accept() {
    if
    :: SURE -> wish = granted; assert(holder == client_has)
    :: else -> wish = unproved
    fi
}

/* session_keeper::lose */
inline session_over() {
    over = true; opened = false; wish = thinking; age = WINDOW; told = false
}

/* session_keeper::proved */
inline proved() {
    opened = true;
#ifdef DEADLINE_FROM_RECEIPT
    age = 0;
#else
    age = proof_age;
#endif
    if
    :: wish == unproved -> accept()
    :: else
    fi;
    assert(!BELIEVES || holder == client_has)
}

active proctype client() {
end:
    do
    :: atomic { !over && proof == not_sent -> proof = sent; proof_age = 0 } /* run_open, run_beat */
    :: atomic { proof == good || proof == lost ->
        if
        :: over || proof == good /* or the answer is lost */
        :: !over && proof == good -> proved()
        :: !over && proof == lost -> session_over()
        fi;
        proof = not_sent; proof_age = 0 }
    :: atomic { opened -> session_over() } /* session_keeper::abandon */
    :: atomic { opened && wish == thinking && !requested && !released ->
        wish = waits; requested = true }
    :: atomic { told -> told = false; accept() } /* run_request, claims::granted */
    :: atomic { wish == granted && !released -> wish = thinking; released = true }
#ifdef BELIEF_BY_TIMER
    :: atomic { wish == granted && !SURE -> wish = unproved } /* client_core::on_alarm */
#endif
    :: atomic { over && known && !alive && proof == not_sent && !requested && !released ->
        over = false; known = false } /* need_session: the next one has another id */
    od
}

active proctype store() {
end:
    do
    :: atomic { proof == sent -> prove() }
    :: atomic { requested -> /* lock_engine::request */
        requested = false;
        if
        :: alive && left != 0 && holder == nobody -> holder = client_has; told = !over
        :: alive && left != 0 -> queued = true
        :: !alive || left == 0
        fi }
    :: atomic { released -> /* lock_engine::release */
        released = false;
        if
        :: holder == client_has -> take_away()
        :: else
        fi }
    :: atomic { holder == others_have -> advance() }
    :: atomic { holder == nobody -> holder = others_have }
    /* sqlite_state::reap_now: what was seen is swapped for death, unless it has changed */
    :: atomic { alive && left == 0 && !suspected -> suspected = true }
    :: atomic { suspected -> bury() }
    od
}

active proctype clock() {
end:
    do
    :: atomic { left != 0 || SURE || (proof != not_sent && proof_age < WINDOW) ->
        if
        :: left != 0 -> left--
        :: else
        fi;
        if
        :: until_miss == 0 -> until_miss = TTL
        :: true ->
            age = (age < WINDOW -> age + 1 : WINDOW);
            proof_age = (proof != not_sent && proof_age < WINDOW -> proof_age + 1 : proof_age);
            until_miss = (until_miss != 0 -> until_miss - 1 : 0)
        fi }
    od
}
