/* SPDX-License-Identifier: BSL-1.0
 *
 * A request, its withdrawal and its release, over connections that break, at a store that loses
 * answers.
 *
 * One client wants one lock, which somebody else may hold at first. It asks, is cancelled or runs
 * out of time at any moment, undoes what it no longer wants, releases what it got. A connection
 * that breaks is followed by one of a higher generation; commands of the dead one may still reach
 * the store, at any later time. Answers get lost although the command was done, and commands fail
 * although they arrived. The session may die, or be given up by the client.
 *
 * Mirrors: core/acquire_fsm.cpp (the inlines below have the names of its functions),
 * client/claims.cpp (run_request, lose_answer, run_withdraw, try_later),
 * client/releases.cpp (run_release, try_later), client/session_keeper.cpp (run_open, lose,
 * abandon), memory_state::resume and enter, sqlite_state::check_actor (who may act),
 * lock_engine::request, withdraw and release; sim/remote_link.cpp (break_connection, reconnect). A
 * store in the same process or host has no connections.
 *
 * Abstracted: time (a timer may fire at any moment); the queue of others (somebody who holds, and
 * leaves); heartbeats (a session may die at any time, a proof may come at any time); looking again
 * finds a grant in one step.
 *
 * Proved: what was undone, released or lost with its session is not at the store and never comes
 * back; no request is granted twice; the client always can come to its end.
 *
 * search connections: safety CONNECTIONS=3
 * search sessions: safety CONNECTIONS=2 SESSIONS=2
 * fault NO_GENERATIONS of connections: a late request of a dead connection is taken
 * fault UNKNOWN_GENERATION_TAKEN of connections: so is one whose resume failed before it
 * fault REQUEST_NOT_IDEMPOTENT of connections: a request that is asked again is granted again
 * fault STOP_ABANDONS_REQUEST of connections: a stop does not wait for the answer to the request
 * fault LOST_WITHDRAW_COUNTS of connections: a withdrawal without an answer counts as done
 */
#ifndef SESSIONS
#define SESSIONS 1
#endif
#define LAST_SESSION (SESSIONS - 1)

mtype:call_kind = { resume, request, withdraw, release };
mtype:answer_kind = { yes, in_queue, no, unknown, session_gone };
mtype:entry_state = { absent, waits, holds };
mtype:fsm_state = { idle, requesting, unheard, queued, unproved, undoing, done };
mtype:stop_reason = { nothing, out_of_time, otherwise };
mtype:lease_state = { none, held, releasing, release_again, ended };

/* --- the store --------------------------------------------------------------------------------
 * The sessions of the client one after the other; each makes one request, so the id of a request
 * is that of its session. The generation of a session is the connection that it was proved on.
 */
mtype:entry_state entry[SESSIONS] = absent;
byte entry_token[SESSIONS];
byte generation[SESSIONS];
bool alive[SESSIONS];
bool known[SESSIONS];
byte last_token;
bool other_holds;

/* What must stay so. */
bool over[SESSIONS];        /* nothing of this session's request may be at the store any more */
bool was_granted[SESSIONS]; /* a request is granted once */

/* Commands keep the order of their connection. Answers come by the newest connection only. */
chan wire[CONNECTIONS] = [6] of { mtype:call_kind, byte, byte };
chan answers = [6] of { mtype:call_kind, mtype:answer_kind, byte, byte };
chan pushes = [1] of { byte, byte };
byte connection;

/* lock_engine::make_grant */
inline grant(s) {
    assert(!was_granted[s]);
    was_granted[s] = true;
    last_token++;
    entry[s] = holds;
    entry_token[s] = last_token;
}

/* memory_state::push: may be lost */
inline push(s) {
    if
    :: nfull(pushes) -> pushes!s, entry_token[s]
    :: true
    fi
}

/* lock_engine::grant_next */
inline advance() {
    if
    :: other_holds || entry[0] == holds || entry[LAST_SESSION] == holds
    :: else ->
        if
        :: entry[0] == waits -> grant(0); push(0)
        :: entry[0] != waits && entry[LAST_SESSION] == waits ->
            grant(LAST_SESSION); push(LAST_SESSION)
        :: else
        fi
    fi
}

/* lock_engine::request: idempotent */
inline do_request() {
    assert(!over[s]);
    if
#ifdef REQUEST_NOT_IDEMPOTENT
    :: entry[s] == holds -> grant(s); answer = yes
#else
    :: entry[s] == holds -> answer = yes
#endif
    :: entry[s] == waits -> answer = in_queue
    :: else ->
        if
        :: !other_holds && entry[0] == absent && entry[LAST_SESSION] == absent ->
            grant(s); answer = yes
        :: else ->
            if
            :: arg == 1 -> entry[s] = waits; answer = in_queue
            :: else -> answer = no
            fi
        fi
    fi;
    token = entry_token[s]
}

/* memory_state::resume: the first one makes the session, a later one must find it */
inline do_resume() {
    if
    :: !known[s] -> known[s] = true; alive[s] = true; generation[s] = c; answer = yes
    :: alive[s] && c >= generation[s] -> generation[s] = c; answer = yes
    :: else -> answer = session_gone
    fi
}

inline act() {
    if
    :: what == resume -> do_resume()
    :: what != resume &&
#ifdef NO_GENERATIONS
       !alive[s]
#else
       (!alive[s] || c < generation[s]) /* memory_state::enter */
#endif
       -> answer = session_gone
#ifndef UNKNOWN_GENERATION_TAKEN
    :: what != resume && alive[s] && c > generation[s] -> answer = unknown /* its resume failed */
#endif
    :: else ->
        if
        :: what == request -> do_request()
        :: what == withdraw -> entry[s] = absent; answer = yes; advance()
        :: what == release ->
            if
            :: entry[s] == holds && entry_token[s] == arg ->
                entry[s] = absent; answer = yes; advance()
            :: else -> answer = no
            fi
        fi
    fi
}

inline serve() {
    wire[c]?what, s, arg;
    token = 0;
    if
    :: act()
    :: true -> answer = unknown /* out of order just now: nothing was done */
    fi;
    if
    :: c == connection ->
        if
        :: answers!what, answer, s, token
        :: answer != session_gone -> answers!what, unknown, s, 0 /* done, and the answer lost */
        fi
    :: else
    fi;
    what = 0; answer = 0; c = 0; s = 0; arg = 0; token = 0
}

active proctype store() {
    mtype:call_kind what;
    mtype:answer_kind answer;
    byte c, s, arg, token;
end:
    do
    :: atomic {
        if
        :: nempty(wire[0]) -> c = 0
        :: nempty(wire[1]) -> c = 1
        :: nempty(wire[CONNECTIONS - 1]) -> c = CONNECTIONS - 1
        fi;
        serve() }
    od
}

/* lock_engine::bury_gone */
inline die(s) {
    alive[s] = false; entry[s] = absent; advance()
}

/* What happens to the store by itself: the other holder leaves, a session dies of its deadline. */
active proctype fate() {
    if
    :: other_holds = true
    :: true
    fi;
end:
    do
    :: atomic { other_holds -> other_holds = false; advance() }
    :: atomic { alive[0] -> die(0) }
    :: atomic { alive[LAST_SESSION] -> die(LAST_SESSION) }
    od
}

/* --- the client ----------------------------------------------------------------------------- */

mtype:fsm_state state = idle;
mtype:stop_reason reason = nothing;
mtype:lease_state user = none;
byte session = SESSIONS; /* none yet */
bool opened, finished, waiting_retry, queues;
bool resume_out, request_out, withdraw_out, release_out; /* calls without an answer so far */
byte my_token, pending;

#define settled (finished && state == done)

inline send(call, arg) {
    assert(nfull(wire[connection]));
    wire[connection]!call, session, arg
}

inline check_nothing_left() {
    assert(entry[session] == absent);
    over[session] = true
}

/* acquire_fsm::end, and claims::drop or accept */
inline end_fsm() {
    state = done;
    finished = true;
    if
    :: my_token != 0 -> user = held
    :: my_token == 0 && session < SESSIONS -> check_nothing_left()
    :: else
    fi
}

inline undo() {
    pending = 0;
    waiting_retry = false;
    state = undoing;
    send(withdraw, 0);
    withdraw_out = true
}

inline accept(token) {
    waiting_retry = false;
    if
    :: my_token = token; end_fsm() /* the session is surely held just now */
    :: pending = token; state = unproved
    fi
}

inline answered(what_said, token) {
    if
    :: state != requesting
    :: state == requesting && what_said == yes ->
        if
        :: reason != nothing && (finished || reason != out_of_time) -> undo()
        :: else -> accept(token)
        fi
    :: state == requesting && what_said == in_queue ->
        if
        :: reason != nothing -> undo()
        :: else -> state = queued
        fi
    :: state == requesting && what_said == no ->
        if
        :: reason == nothing -> reason = out_of_time
        :: else
        fi;
        end_fsm()
    fi
}

/* claims::lose_answer: at a server, who waits asks again by the same id */
inline request_failed() {
    if
    :: state == requesting && reason == nothing && queues -> /* acquire_fsm::connection_lost */
        state = unheard; waiting_retry = true
    :: state == requesting ->
        if
        :: reason == nothing -> reason = otherwise
        :: else
        fi;
        undo()
    :: else
    fi
}

inline withdrawn(ok) {
    if
    :: state != undoing
    :: state == undoing && ok -> end_fsm()
#ifdef LOST_WITHDRAW_COUNTS
    :: state == undoing && !ok -> end_fsm()
#else
    :: state == undoing && !ok -> waiting_retry = true /* undo_later */
#endif
    fi
}

inline stop(why) {
    if
    :: state == undoing || (reason != nothing && reason != out_of_time) || reason == why
    :: else ->
        reason = why;
        if
        :: state == idle -> end_fsm()
        :: state == queued || state == unproved || state == unheard -> undo()
#ifdef STOP_ABANDONS_REQUEST
        :: state == requesting -> end_fsm()
#endif
        :: else
        fi
    fi
}

/* session_keeper::lose: answers to the session that is gone are void */
inline close_session() {
    opened = false;
    request_out = false; withdraw_out = false; release_out = false; resume_out = false;
    pending = 0; waiting_retry = false;
    session++
}

/* The store said so: with the session went whatever it had. Who still waits asks again. */
inline session_over() {
    check_nothing_left();
    close_session();
    if
    :: user != none -> user = ended
    :: user == none && state != done ->
        if
        :: reason != nothing || session == SESSIONS -> state = done; finished = true
        :: else -> state = idle
        fi
    :: else
    fi
}

/* session_keeper::abandon: what cannot be undone ends with its session. The user begins again. */
inline abandon() {
    close_session();
    if
    :: session == SESSIONS -> state = done; finished = true; user = (user == none -> none : ended)
    :: else -> state = idle; finished = false; user = none; reason = nothing; my_token = 0
    fi
}

inline heard(call, said_it, token) {
    if
    :: said_it == session_gone -> session_over()
    :: said_it != session_gone && call == resume ->
        if
        :: resume_out && said_it == yes ->
            resume_out = false; opened = true;
            if /* session_opened; after a reconnection nothing is to be done */
            :: state == idle -> state = requesting; send(request, queues); request_out = true
            :: else
            fi
        :: resume_out && said_it == unknown -> open_failed()
        :: else
        fi
    :: said_it != session_gone && call == request && request_out ->
        request_out = false;
        if
        :: said_it == unknown -> request_failed()
        :: else -> answered(said_it, token)
        fi
    :: said_it != session_gone && call == withdraw && withdraw_out ->
        withdraw_out = false;
        withdrawn((said_it == yes))
    :: said_it != session_gone && call == release && release_out ->
        release_out = false;
        if
        :: said_it == unknown -> user = release_again /* release_later */
        :: else -> user = ended; check_nothing_left()
        fi
    :: else
    fi
}

/* run_open without an answer: nothing was asked for yet. After a reconnection it is tried again. */
inline open_failed() {
    resume_out = false;
    if
    :: !opened && state == idle -> stop(otherwise)
    :: opened -> send(resume, 0); resume_out = true
    :: else
    fi
}

/* The connection breaks. The next one begins with `resume`; then every call that was under way is
 * known to have no answer.
 */
inline reconnect() {
    connection++;
    do
    :: nempty(answers) -> answers?_, _, _, _
    :: empty(answers) -> break
    od;
    if
    :: opened -> send(resume, 0); resume_out = true
    :: !opened && resume_out -> open_failed()
    :: else
    fi;
    if
    :: request_out -> request_out = false; request_failed()
    :: else
    fi;
    if
    :: withdraw_out -> withdraw_out = false; withdrawn(false)
    :: else
    fi;
    if
    :: release_out -> release_out = false; user = release_again
    :: else
    fi
}

active proctype client() {
    mtype:call_kind which;
    mtype:answer_kind said_it;
    byte s, token;
    if
    :: queues = true
    :: queues = false
    fi;
    do
    :: atomic { state == idle && !opened && !resume_out && reason == nothing -> /* need_session */
        if
        :: session == SESSIONS -> session = 0
        :: else
        fi;
        send(resume, 0); resume_out = true }
    :: atomic { answers?which, said_it, s, token ->
        if
        :: s == session -> heard(which, said_it, token)
        :: else
        fi;
        which = 0; said_it = 0; s = 0; token = 0 }
    :: atomic { pushes?s, token -> /* acquire_fsm::granted */
        if
        :: opened && s == session &&
           (state == queued || state == unheard || (state == requesting && reason == nothing)) ->
            accept(token)
        :: else
        fi;
        s = 0; token = 0 }
    :: atomic { opened && (state == queued || state == unheard) && alive[session] &&
                entry[session] == holds -> /* look */
        accept(entry_token[session]) }
    :: atomic { opened && state == unproved && alive[session] -> /* beaten, acquire_fsm::proved */
        if
        :: finished -> undo()
        :: else -> my_token = pending; pending = 0; end_fsm()
        fi }
    :: atomic { opened && !alive[session] -> session_over() } /* beaten */
    :: atomic { !finished -> stop(out_of_time) }
    :: atomic { !finished -> stop(otherwise) }
    :: atomic { reason != nothing && !finished -> finished = true } /* acquire_fsm::budget_over */
    :: atomic { waiting_retry && state == unheard && opened && !resume_out -> /* retry */
        waiting_retry = false; state = requesting; send(request, queues); request_out = true }
    :: atomic { waiting_retry && state == undoing -> /* retry, or session_keeper::abandon */
        if
        :: waiting_retry = false; send(withdraw, 0); withdraw_out = true
        :: finished -> abandon()
        fi }
    :: atomic { user == held || user == release_again -> /* run_release, or abandon */
        if
        :: user = releasing; send(release, my_token); release_out = true
        :: user == release_again -> abandon()
        fi }
    :: atomic { connection < CONNECTIONS - 1 -> reconnect() }
    :: settled && (my_token == 0 || user == ended) -> break
    od
}
