/* SPDX-License-Identifier: BSL-1.0
 *
 * A store that starts again: with all that it knew, with an older copy of it, or empty; the change
 * of its incarnation, the look that follows, and the quarantine.
 *
 * One client in every detail, and everybody else as one other client that does nothing wrong.
 *
 * Mirrors: session_keeper.cpp (beaten, proved, lose), reconciler.cpp (run_look,
 * take_snapshot, compare), session_fsm::doubt, acquire_fsm (accept, proved, missing, revoked),
 * claims.cpp (send_request); memory_state::restart, beat, look, reap and
 * wake_after_quarantine; lock_engine::grant_next with lock_rows::quarantined; compare_run of
 * lua/server.lua. Older copies are those of a server that saves from time to time, or of a replica
 * that lagged behind and was promoted.
 *
 * Abstracted: clocks run alike (session_expiry.pml); an older copy is anything that the store may
 * ever have had for these sessions; the queue has two places, and who is first is left open; a
 * request is answered at once, and only word of a grant is under way; broken grants (hand_off.pml).
 * Assumed of a store: what it said before it started again is heard before anything that it says
 * afterwards, or never; deadlines are points in time, also in an older copy.
 *
 * Proved: the client and somebody else never believe at the same time that they hold the lock.
 * That the end of a quarantine wakes who waits is proved in hand_off.pml.
 *
 * search restart: safety ASKS=1
 * fault NO_QUARANTINE of restart: the store grants at once after it has forgotten
 * fault NO_DOUBT of restart: a heartbeat that tells of another incarnation proves all leases
 * fault EARLIER_LOOK_PROVES of restart: so does a look that began before the client knew
 * fault PENDING_NOT_COMPARED of restart: a grant that waits for its proof is not looked for
 * fault RESTORED_SESSIONS_LIVE of restart: an older copy gives its sessions a new deadline
 * fault RUN_NOT_COMPARED of restart: a server that runs anew, or another one, is taken for the same
 * fault OLD_ANSWERS_COME_LATE of restart: the answers of before are heard after those of later
 */
#define TTL 2
#define RESTARTS 1

mtype:entry_state = { absent, queued, granted };
mtype:wish_state = { thinking, requesting, waits, unproved, held };
mtype:call_state = { none, sent, answered };

/* --- the store ------------------------------------------------------------------------------- */

byte incarnation, quarantine, last_token;
byte left = TTL; /* ticks until the deadline of the client's session; zero: it is gone */
mtype:entry_state entry = absent; /* what it has of the client's request */
byte entry_id, entry_token;
byte other_token; /* the grant of somebody else, if there is one */
byte other_left;  /* ticks until the deadline of its session */

#define OLD 255 /* an id or a token that nobody here knows any more */

/* --- somebody else ---------------------------------------------------------------------------- */

byte other_sure; /* ticks for which it believes in its grant, */
byte other_held; /* which is this one */

/* --- the client ------------------------------------------------------------------------------- */

bool over;
mtype:wish_state wish = thinking;
byte id, token, last_id, age, known_incarnation;
byte told_id, told_token; /* an answer or a push of a grant, on its way */

mtype:call_state beat = none;
byte beat_age, beat_incarnation;
bool beat_lost, beat_differs;
bool proof_pending; /* a proof that counts after a look */
byte proof_age;

mtype:call_state look = none;
bool look_wanted, look_lost;
mtype:wish_state asked_as = thinking; /* reconciler::snapshot */
byte asked_id, asked_incarnation, seen_id, seen_token;
mtype:entry_state seen = absent;

/* Something that was answered before the restart is still on its way. */
bool stale;

#define SURE (age < TTL)
#define BELIEVES (wish == held && SURE)
#define OTHER_BELIEVES (other_sure != 0)
#define CHECK assert(!(BELIEVES && OTHER_BELIEVES))
#ifdef NO_QUARANTINE
#define QUARANTINED false
#else
#define QUARANTINED (quarantine != 0)
#endif
#ifdef RUN_NOT_COMPARED
#define RUN 0
#else
#define RUN incarnation
#endif
#define FREE (!QUARANTINED && entry != granted && other_token == 0)

/* lock_engine::grant_next: who is first in the queue is left open */
inline advance() {
    if
    :: FREE && entry == queued && left != 0 ->
        last_token++;
        entry = granted; entry_token = last_token;
        if
        :: !over -> told_id = entry_id; told_token = entry_token
        :: over || wish != requesting /* the push is lost */
        fi
    :: true
    fi
}

inline forget() {
    entry = absent; entry_id = 0; entry_token = 0
}

/* acquire_fsm::accept */
inline accept(t) {
    token = t;
    wish = (SURE -> held : unproved);
    CHECK
}

inline give_up() {
    wish = thinking; id = 0; token = 0
}

/* session_keeper::proved */
inline proved(a) {
    age = a;
    wish = (SURE && wish == unproved -> held : wish);
    CHECK
}

inline end_beat() {
    beat = none; beat_age = 0; beat_incarnation = 0; beat_lost = false; beat_differs = false
}

inline end_look() {
    look = none; look_lost = false; asked_as = thinking; asked_id = 0; asked_incarnation = 0;
    seen = absent; seen_id = 0; seen_token = 0
}

inline session_over() {
    over = true; give_up(); age = TTL; told_id = 0; told_token = 0;
    end_beat(); end_look(); proof_pending = false; proof_age = 0; look_wanted = false
}

/* reconciler::start, take_snapshot */
inline look_now() {
    if
    :: look == none -> look = sent; look_wanted = false; asked_as = wish; asked_id = id;
        asked_incarnation = known_incarnation
    :: else -> look_wanted = true
    fi
}

inline beaten() {
    if
    :: beat_incarnation != known_incarnation ->
        known_incarnation = beat_incarnation;
#ifdef NO_DOUBT
        proved(beat_age);
#else
        age = TTL; /* session_fsm::doubt */
        proof_pending = true; proof_age = beat_age;
#endif
        look_now()
    :: else ->
        if
        :: proof_pending -> proof_age = beat_age
        :: else -> proved(beat_age)
        fi;
        if
        :: beat_differs || look_wanted -> look_now()
        :: !look_wanted
        fi
    fi
}

/* claims::send_request, lock_engine::request */
inline ask() {
    if
    :: left == 0 -> session_over()
    :: else ->
        last_id++; id = last_id; token = 0;
        entry = queued; entry_id = id;
        wish = requesting;
        advance();
        wish = (entry == granted -> requesting : waits)
    fi
}

/* reconciler::compare: what nobody here owns is withdrawn */
inline withdraw_orphan() {
    if
    :: seen_id != 0 && seen_id != id && seen_id == entry_id -> forget(); advance()
    :: else
    fi
}

/* reconciler::compare */
inline compare() {
    if
    :: wish == waits && seen == granted && seen_id == id -> accept(seen_token)
#ifndef PENDING_NOT_COMPARED
    :: wish == unproved && asked_as == unproved && asked_id == id && seen_id == id &&
       !(seen == granted && seen_token == token) -> /* it was forgotten */
        token = (seen == granted -> seen_token : 0);
        wish = (seen == granted -> unproved : waits)
#endif
    :: (wish == waits || wish == unproved) && (asked_as == waits || asked_as == unproved) &&
       asked_id == id && seen_id != id ->
        give_up() /* acquire_fsm::missing; it asks again by a new id */
    :: wish == held && asked_as == held && asked_id == id &&
       !(seen == granted && seen_id == id && seen_token == token) ->
        give_up()
    :: else
    fi
}

inline looked() {
    withdraw_orphan();
    compare();
    if
#ifdef EARLIER_LOOK_PROVES
    :: proof_pending ->
#else
    :: proof_pending && asked_incarnation == known_incarnation ->
#endif
        proof_pending = false; proved(proof_age); proof_age = 0
    :: else
    fi;
    end_look();
    if
    :: !over && look_wanted -> look_now()
    :: else
    fi
}

active proctype client() {
end:
    do
    :: over -> break
    :: atomic { !over && wish == thinking && !stale && last_id < ASKS -> ask() }
    :: atomic { told_id != 0 -> /* run_request, claims::granted */
        if
        :: told_id == id && (wish == requesting || wish == waits) -> accept(told_token)
        :: else
        fi;
        told_id = 0; told_token = 0 }
    :: atomic { wish == held && !stale -> /* lock_engine::release */
        if
        :: entry == granted && entry_id == id && entry_token == token -> forget(); advance()
        :: else
        fi;
        give_up() }
    :: atomic { !over && beat == none && age != 0 -> beat = sent } /* session_fsm::beat_at */
    :: atomic { beat == sent && !stale -> /* memory_state::beat */
        beat = answered; beat_incarnation = RUN; beat_lost = (left == 0);
        beat_differs = (entry == granted) != (wish == held || wish == unproved);
        left = (left == 0 -> 0 : TTL) }
    :: atomic { beat == answered ->
        if
        :: beat_lost -> session_over()
        :: !beat_lost -> beaten(); end_beat()
        :: end_beat() /* the answer is lost */
        fi }
    :: atomic { look == sent && !stale -> /* memory_state::look */
        look = answered; look_lost = (left == 0);
        seen = entry; seen_id = entry_id; seen_token = entry_token }
    :: atomic { look == answered ->
        if
        :: look_lost -> session_over()
        :: !look_lost -> looked()
        :: end_look(); look_wanted = true /* the answer is lost */
        fi }
    :: atomic { stale && beat != answered && look != answered && told_id == 0 -> stale = false }
    od
}

active proctype somebody_else() {
end:
    do
    :: atomic { FREE -> /* granted */
        other_token = (other_held == 1 -> 2 : 1); /* another one than it had before */
        other_held = other_token; other_left = TTL; other_sure = TTL; CHECK }
    :: atomic { other_left != 0 && other_token != 0 && other_token == other_held -> /* proved */
        other_left = TTL; other_sure = TTL; CHECK }
    :: atomic { other_left != 0 && other_token != 0 -> /* released, or an orphan */
        if
        :: other_token == other_held -> other_held = 0; other_sure = 0
        :: other_token != other_held
        fi;
        other_token = 0; other_left = 0; advance() }
    od
}

/* Any older copy, and more: what a session had before, or nothing. A deadline is a point in time,
 * which a heartbeat only moves on: that of an older copy is not later.
 */
inline restore() {
    if
    :: other_token = 0
    :: entry != granted -> other_token = OLD
    :: true
    fi;
    if
    :: forget()
    :: entry == granted -> entry = queued; entry_token = 0
    :: entry = queued; entry_id = OLD; entry_token = 0
    :: other_token == 0 -> entry = granted; entry_id = OLD; entry_token = OLD
    :: other_token == 0 && token != 0 -> entry = granted; entry_id = id; entry_token = token
    :: true
    fi;
    assert(entry != granted || other_token == 0);
#ifdef RESTORED_SESSIONS_LIVE
    left = TTL; other_left = TTL;
#else
    if
    :: left != 0 -> left--
    :: left = 0
    :: true
    fi;
    if
    :: other_left != 0 -> other_left--
    :: other_left = 0
    :: true
    fi;
#endif
    drop_expired();
    quarantine = TTL
}

/* memory_state::reap, lock_engine::bury_gone */
inline drop_expired() {
    if
    :: left == 0 -> forget()
    :: else
    fi;
    other_token = (other_left != 0 -> other_token : 0)
}

active proctype fate() {
end:
    do
    :: atomic {
        left = (left != 0 -> left - 1 : 0);
        other_left = (other_left != 0 -> other_left - 1 : 0);
        age = (age < TTL -> age + 1 : TTL);
        beat_age = (beat != none && beat_age < TTL -> beat_age + 1 : beat_age);
        proof_age = (proof_pending && proof_age < TTL -> proof_age + 1 : proof_age);
        quarantine = (quarantine != 0 -> quarantine - 1 : 0);
        other_sure = (other_sure != 0 -> other_sure - 1 : 0);
        drop_expired();
        advance() } /* wake_after_quarantine */
    :: atomic { incarnation < RESTARTS ->
        incarnation++;
#ifndef OLD_ANSWERS_COME_LATE
        stale = (beat == answered || look == answered || told_id != 0);
#endif
        if
        :: true /* with all that it knew */
        :: restore()
        fi }
    od
}
