/* SPDX-License-Identifier: BSL-1.0
 *
 * One lock, two clients, coroutines in them that want it again and again: passing it on inside a
 * client, in turns once the other client waits, with tokens out of the grant's blocks.
 *
 * Mirrors: lock_queue::acquire, granted, contended, release, next, serve, ask_for_head and leave;
 * granted_claims::may_pass and begin_turn; token_supply::take and wants_more; lock_engine::request,
 * tell_contended, release, make_grant and draw; local_locks::run (tasks reach the store in their
 * order); claims::granted and contended; session_keeper::beaten, reconciler::compare (heartbeats
 * that look again).
 *
 * Abstracted: one mode (exclusive), no cancellations, no tries, no linger; a turn has so many
 * hand-offs and may end sooner, by its time; a heartbeat that would find nothing is no step; a
 * grant has two tokens, and a draw brings two.
 *
 * Proved: who wants the lock gets it, whatever the others do, if nobody who can do something waits
 * for ever (weak fairness); one holds it at a time; tokens grow from hold to hold, over hand-offs,
 * draws and clients.
 *
 * search one_of_two: ltl one_of_two
 * search the_other_client: ltl the_other_client
 * search tokens: safety TOKENS=10
 * fault NO_TURNS of the_other_client: a client passes the lock on as long as anybody there waits
 * fault EACH_HINT_BEGINS_A_TURN of the_other_client: a turn begins anew with each look
 * fault NO_LOOK_FOR_CONTENTION of the_other_client: a lost push is not made up for by a heartbeat
 * fault DRAWN_TOKENS_KEPT of tokens: what was drawn for one grant is used for the next
 */
#define TURN 2 /* client_config::turn_handoffs_max */
#define CLIENTS 2
#define COROUTINES 3 /* the last one is alone in its client */
#define NOBODY 255
#define BLOCK 2 /* tokens of one base */
#define CLIENT(w) ((w) / 2)

mtype:coroutine_state = { thinks, wants, holds };
mtype:claim_state = { none, asked, granted };
mtype:task_kind = { request, release, draw };
mtype:hint_kind = { given, contended_hint };

/* --- the store ------------------------------------------------------------------------------- */

byte holder = NOBODY;
bit holder_id;
chan queue = [CLIENTS] of { byte, bit };
chan pushes[CLIENTS] = [1] of { mtype:hint_kind, bit, bool };

/* --- the clients ----------------------------------------------------------------------------- */

mtype:coroutine_state state[COROUTINES] = thinks;
chan waiting[CLIENTS] = [2] of { byte };  /* lock_queue::waiting_ */
chan tasks[CLIENTS] = [3] of { mtype:task_kind }; /* queue_work, to the strand */
mtype:claim_state claim[CLIENTS] = none;
bit id[CLIENTS]; /* of its request: of two that follow each other they differ */
bool contended[CLIENTS];
byte turn_left[CLIENTS];

#ifdef TOKENS
#define SUPPLY_EMPTY(c) (token_next[c] == token_end[c] && token_later[c] == 0)
#define MAY_ACQUIRE (last_taken < TOKENS) /* so that there is an end of states */
byte base, last_taken;
byte token_next[CLIENTS], token_end[CLIENTS], token_later[CLIENTS], given_base[CLIENTS];
bool drawing[CLIENTS];
#else
#define SUPPLY_EMPTY(c) false
#define MAY_ACQUIRE true
#endif

/* granted_claims::may_pass; a turn may also end by its time */
#ifdef NO_TURNS
#define MUST_PASS(c) (!SUPPLY_EMPTY(c))
#define MAY_LEAVE(c) SUPPLY_EMPTY(c)
#else
#define MUST_PASS(c) (!SUPPLY_EMPTY(c) && (!contended[c] || turn_left[c] != 0))
#define MAY_LEAVE(c) (SUPPLY_EMPTY(c) || contended[c])
#endif

/* --- lock_engine ----------------------------------------------------------------------------- */

inline push(hint, flag) {
    if
    :: nfull(pushes[holder]) -> pushes[holder]!hint, holder_id, flag
    :: true /* lost */
    fi
}

/* lock_engine::make_grant */
inline make_grant(to, its_id) {
    holder = to; holder_id = its_id;
#ifdef TOKENS
    base++; given_base[to] = base
#endif
}

inline do_request(c) {
    if
    :: holder == NOBODY -> /* the queue is empty then */
        make_grant(c, id[c]);
        grant_arrives(c, false)
    :: else ->
        queue!c, id[c];
        if /* tell_contended: not those of the own session */
        :: holder != c -> push(contended_hint, true)
        :: else
        fi
    fi
}

inline do_release(c) {
    assert(holder == c);
    holder = NOBODY;
    if
    :: nempty(queue) ->
        queue?other, other_id;
        make_grant(other, other_id);
        push(given, (len(queue) != 0))
    :: empty(queue)
    fi
}

/* --- lock_queue ------------------------------------------------------------------------------ */

#ifdef TOKENS
/* token_supply::take, wants_more */
inline take(c) {
    if
    :: token_next[c] == token_end[c] ->
        token_next[c] = token_later[c] * BLOCK; token_end[c] = token_next[c] + BLOCK;
        token_later[c] = 0
    :: else
    fi;
    assert(token_next[c] > last_taken);
    last_taken = token_next[c];
    token_next[c]++;
    if
    :: !drawing[c] && token_later[c] == 0 && token_end[c] - token_next[c] <= BLOCK / 2 ->
        drawing[c] = true; tasks[c]!draw
    :: else
    fi
}
#endif

/* lock_queue::serve, give */
inline serve(c) {
    waiting[c]?who;
    assert(state[0] != holds && state[1] != holds && state[2] != holds);
    state[who] = holds;
#ifdef TOKENS
    take(c)
#endif
}

/* What was pushed to the request that ends here is void: ids are not used again. */
inline leave(c) {
    do
    :: nempty(pushes[c]) -> pushes[c]?_, _, _
    :: empty(pushes[c]) -> break
    od;
    claim[c] = none; contended[c] = false; turn_left[c] = 0;
    tasks[c]!release
#ifdef TOKENS
    ; token_next[c] = 0; token_end[c] = 0;
#ifndef DRAWN_TOKENS_KEPT
    token_later[c] = 0;
#endif
    drawing[c] = false
#endif
}

inline ask_for_head(c) {
    if
    :: claim[c] == none && nempty(waiting[c]) ->
        claim[c] = asked; id[c] = 1 - id[c]; tasks[c]!request
    :: claim[c] != none || empty(waiting[c])
    fi
}

/* lock_queue::granted */
inline grant_arrives(c, flag) {
    claim[c] = granted;
    contended[c] = contended[c] || flag;
    turn_left[c] = (contended[c] -> TURN : 0);
#ifdef TOKENS
    token_next[c] = given_base[c] * BLOCK; token_end[c] = token_next[c] + BLOCK;
#endif
    serve(c)
}

/* lock_queue::contended, granted_claims::begin_turn */
inline now_contended(c) {
    if
#ifdef EACH_HINT_BEGINS_A_TURN
    :: true ->
#else
    :: !contended[c] ->
#endif
        contended[c] = true;
        turn_left[c] = (claim[c] == granted -> TURN : 0)
    :: contended[c]
    fi
}

#define AT_STORE(c) (holder == c && holder_id == id[c])

active [CLIENTS] proctype strand() {
    byte me = _pid, other, who;
    bit other_id;
    mtype:hint_kind what;
    bool flag;
end:
    do
    /* local_locks::run: claims::start, releases::start, claims::draw */
    :: atomic { tasks[me]?request -> do_request(me) }
    :: atomic { tasks[me]?release -> do_release(me) }
#ifdef TOKENS
    :: atomic { tasks[me]?draw -> /* compared with the grant that is held */
        if
        :: holder == me -> base++
        :: else
        fi;
        if
        :: claim[me] == granted && AT_STORE(me) -> token_later[me] = base; drawing[me] = false
        :: else
        fi }
#endif
    :: atomic { pushes[me]?what, other_id, flag -> /* claims::granted, contended */
        if
        :: other_id == id[me] && what == given && claim[me] == asked -> grant_arrives(me, flag)
        :: other_id == id[me] && what == contended_hint && claim[me] != none -> now_contended(me)
        :: else
        fi;
        what = 0; other_id = 0; flag = 0 }
    /* session_keeper::beaten, reconciler::compare */
    :: atomic { claim[me] == asked && AT_STORE(me) -> grant_arrives(me, (len(queue) != 0)) }
#ifndef NO_LOOK_FOR_CONTENTION
    :: atomic { claim[me] == granted && AT_STORE(me) && nempty(queue) && !contended[me] ->
        now_contended(me) }
#endif
    od
}

/* Looks for other reasons, as often as you like. */
active [CLIENTS] proctype looks() {
    byte me = _pid - CLIENTS;
end:
    do
    :: atomic { claim[me] == granted && AT_STORE(me) && nempty(queue) && contended[me] ->
        now_contended(me) }
    od
}

active [COROUTINES] proctype coroutine() {
    byte me = _pid - 2 * CLIENTS;
    byte c = CLIENT(me), who;
end:
    do
    :: atomic { state[me] == thinks && MAY_ACQUIRE -> /* lock_queue::acquire */
        state[me] = wants;
        waiting[c]!me;
        ask_for_head(c) }
    :: atomic { state[me] == holds -> /* lock_queue::release, next */
        state[me] = thinks;
        if
        :: MUST_PASS(c) && nempty(waiting[c]) ->
            turn_left[c] = (turn_left[c] != 0 -> turn_left[c] - 1 : 0);
            serve(c)
        :: empty(waiting[c]) || MAY_LEAVE(c) -> leave(c); ask_for_head(c)
        fi }
    od
}

ltl one_of_two { [] (state[0] == wants -> <> (state[0] == holds)) }
ltl the_other_client { [] (state[2] == wants -> <> (state[2] == holds)) }
