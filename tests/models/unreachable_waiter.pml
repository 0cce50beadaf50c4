/* SPDX-License-Identifier: BSL-1.0
 *
 * The queue of one lock at a server that knows whom it can reach: who waits and cannot be reached
 * keeps its place, is passed over, and gets the lock when it can be reached again and nobody has
 * it.
 *
 * Mirrors: advance and reachability of lua/queue.lua, lua/request.lua, lua/release.lua, the end of
 * lua/resume.lua; redis_link (on_closed, reconnect, resume_session), reconciler.cpp (compare).
 *
 * Abstracted: deaths and deadlines (hand_off.pml, session_expiry.pml): a session goes on for as
 * long as its connection is broken; lost answers of requests (request_withdraw.pml). A server may
 * notice late, or not before the next connection, that one is broken: what it grants meanwhile is
 * not heard. One exclusive lock, one coroutine a client.
 *
 * Proved: at most one believes that it holds the lock. Every run ends, and then everybody was
 * served, nobody is left in the queue, and the lock is free.
 *
 * search breaks: safety
 * search rounds: safety CLIENTS=2 ROUNDS=3
 * search ends: cycles CLIENTS=2 ROUNDS=2
 * fault RESUME_WITHOUT_ADVANCE of breaks: who can be reached again waits for a release
 * fault RESUME_WITHOUT_VIEW of breaks: what was granted while nobody heard it is not looked for
 * fault RESUME_FREES of breaks: the next connection of a session frees what it held
 * fault PASSED_OVER_IS_FORGOTTEN of breaks: who cannot be reached loses its place
 */
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define BREAKS 3
#define NOBODY CLIENTS

mtype:wish_state = { thinking, waits, held };

/* --- the server ------------------------------------------------------------------------------ */

byte holder = NOBODY;
chan queue = [CLIENTS] of { byte };
bool heard[CLIENTS] = true; /* PUBLISH counts somebody */

/* --- the clients ----------------------------------------------------------------------------- */

mtype:wish_state wish[CLIENTS] = thinking;
byte rounds[CLIENTS] = ROUNDS; /* those left; the id of a request, too */
bool linked[CLIENTS] = true;
byte told[CLIENTS]; /* the push of a grant of this id is under way */
byte breaks = BREAKS;

inline believe(c) {
    wish[c] = held;
    assert(!(wish[0] == held && wish[1] == held));
    assert(CLIENTS == 2 || wish[CLIENTS - 1] != held || (wish[0] == held) + (wish[1] == held) == 0)
}

/* The first who can be reached, in turn; all others keep their places. */
inline advance() {
    if
    :: holder == NOBODY ->
        left = len(queue);
        do
        :: left != 0 ->
            left--;
            queue?other;
            if
            :: holder == NOBODY && heard[other] ->
                holder = other;
                told[other] = (linked[other] -> rounds[other] : 0)
#ifdef PASSED_OVER_IS_FORGOTTEN
            :: holder == NOBODY && !heard[other]
            :: holder != NOBODY -> queue!other
#else
            :: holder != NOBODY || !heard[other] -> queue!other
#endif
            fi
        :: left == 0 -> break
        od;
        other = 0
    :: holder != NOBODY
    fi
}

/* lua/resume.lua, and the look at the view that it gives */
inline resume() {
    linked[me] = true;
    heard[me] = true;
#ifdef RESUME_FREES
    holder = (holder == me -> NOBODY : holder);
#endif
#ifndef RESUME_WITHOUT_ADVANCE
    advance();
#endif
#ifndef RESUME_WITHOUT_VIEW
    if
    :: wish[me] == waits && holder == me -> believe(me)
    :: wish[me] != waits || holder != me
    fi
#endif
}

proctype client(byte me) {
    byte other, left;
end:
    do
    :: atomic { linked[me] && wish[me] == thinking && rounds[me] != 0 -> /* lua/request.lua */
        advance();
        if
        :: holder == NOBODY -> holder = me; believe(me)
        :: holder != NOBODY -> queue!me; wish[me] = waits
        fi }
    :: atomic { linked[me] && told[me] != 0 -> /* redis_link::on_push */
        if
        :: wish[me] == waits && told[me] == rounds[me] -> believe(me)
        :: wish[me] != waits || told[me] != rounds[me]
        fi;
        told[me] = 0 }
    :: atomic { linked[me] && wish[me] == held -> /* lua/release.lua */
        wish[me] = thinking;
        rounds[me]--;
        if
        :: holder == me -> holder = NOBODY; advance()
        :: holder != me -> assert(false)
        fi }
    :: atomic { linked[me] && breaks != 0 && rounds[me] != 0 -> /* redis_link::on_closed */
        breaks--;
        linked[me] = false;
        told[me] = 0 }
    :: atomic { !linked[me] -> resume() }
    od
}

active proctype fate() {
end:
    do
    :: atomic { heard[0] && !linked[0] -> heard[0] = false }
    :: atomic { heard[1] && !linked[1] -> heard[1] = false }
    :: atomic { heard[CLIENTS - 1] && !linked[CLIENTS - 1] -> heard[CLIENTS - 1] = false }
    :: atomic { timeout -> /* nothing is left to be done */
        assert(rounds[0] == 0 && rounds[1] == 0 && rounds[CLIENTS - 1] == 0);
        assert(empty(queue) && holder == NOBODY);
        break }
    od
}

init {
    atomic {
        byte c;
        for (c : 0 .. CLIENTS - 1) {
            run client(c)
        }
    }
}
