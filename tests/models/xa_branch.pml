/* SPDX-License-Identifier: BSL-1.0
 *
 * A branch that is prepared at a database, two coordinators of one log, and a third one that looks
 * for orphans.
 *
 * The first coordinator begins a transaction, tries its branch up to three times, decides and
 * finishes it. It may die at any moment; then the second one takes over. Each statement travels on
 * a connection of its own: its answer may be given up at any time, and the database may carry it
 * out at any later time, in any order. All the while the third coordinator looks for branches that
 * the log does not know. Before the decision a power failure may take the begin, which was not
 * forced, and the first coordinator; the third one looks again when nothing is on its way.
 *
 * Mirrors: xa/xa_participant.cpp (try_branch, confirm_branch, cancel_branch), detail/xa_session.hpp
 * (the note, and what waits for it), coordinator/prepared_watch.cpp (note, judge, end_orphans),
 * core/tcc_fsm.cpp (resume_undecided, resume_decided), log/log_entries.cpp (begin).
 *
 * Abstracted: one branch (it votes alone; the decision is still the log's); the work; ages (every
 * orphan is overdue); forgotten notes.
 *
 * Proved: a branch of a confirmed transaction is committed once, one of a cancelled transaction
 * never; nothing stays prepared when its transaction has ended, or was lost, and no statement is on
 * its way. Of a lost one nothing is ever committed.
 *
 * search all: safety
 * fault LOG_BEFORE_LIST of all: a look reads the log first: what begins then is an orphan to it
 * fault ROLL_BACK_AND_RETRY of all: a repeated try rolls back what an earlier one may have prepared
 * fault NO_CLOSE of all: a cancel leaves no note, and a late try is prepared
 * fault DECIDE_LATE of all: the commit is sent before the decision is in the log
 * fault LOOK_ONCE of all: nobody looks for orphans a second time
 */
#define CONNECTIONS 11

mtype:statement = { prepare, roll_back, commit, close };
mtype:answer = { yes, gone, late };

chan wire[CONNECTIONS] = [1] of { mtype:statement };
chan back[CONNECTIONS] = [1] of { mtype:answer };

/* --- the log ---------------------------------------------------------------------------------*/
bool begun;
bool decided;
bool confirm;
bool ended;
bool taken_over; /* the second coordinator decides now, or none */
bool lost;       /* with the power, before it was decided */
bool dead;       /* the first coordinator sends nothing more */
bool looked;     /* for the last time, after it was lost */

/* --- the database ----------------------------------------------------------------------------*/
bool prepared;
bool noted_worked;
bool noted_closed;

/* A close waits for a transaction that has noted the branch. */
inline serve(c) {
    (nempty(wire[c]) && !(wire[c]?[close] && prepared)) ->
    if
    :: wire[c]?prepare ->
        if
        :: prepared || noted_worked || noted_closed -> back[c]!late
        :: else -> prepared = true; back[c]!yes
        fi
    :: wire[c]?roll_back ->
        if
        :: prepared -> prepared = false; back[c]!yes
        :: else -> back[c]!gone
        fi
    :: wire[c]?commit ->
        if
        :: prepared ->
            assert(!noted_worked);
            prepared = false;
            noted_worked = true;
            back[c]!yes
        :: else -> back[c]!gone
        fi
    :: wire[c]?close ->
        assert(!noted_worked); /* a branch that is cancelled was not committed */
#ifndef NO_CLOSE
        noted_closed = true;
#endif
        back[c]!yes
    fi
}

active proctype database() {
end:
    do
    :: atomic { serve(0) }
    :: atomic { serve(1) }
    :: atomic { serve(2) }
    :: atomic { serve(3) }
    :: atomic { serve(4) }
    :: atomic { serve(5) }
    :: atomic { serve(6) }
    :: atomic { serve(7) }
    :: atomic { serve(8) }
    :: atomic { serve(9) }
    :: atomic { serve(10) }
    od
}

/* --- the branch's calls ----------------------------------------------------------------------*/
inline confirm_branch(first) {
    wire[first]!commit;
    back[first]?heard;
    if
    :: heard == yes -> skip
    :: else -> assert(noted_worked) /* or somebody has rolled it back */
    fi
}

/* A close that waits for too long is sent again, after another rollback. */
inline roll_back_and_close(first, again) {
    wire[first]!roll_back;
    back[first]?heard;
    wire[first]!close;
    do
    :: back[first]?heard -> break
    :: wire[first]?[close] && prepared ->
        wire[again]!roll_back;
        back[again]?heard
    od
}

/* --- the first coordinator -------------------------------------------------------------------*/
active proctype coordinator() {
    bool voted;
    mtype:answer heard;
    atomic { begun = true };
    wire[0]!prepare;
    if
    :: back[0]?heard -> voted = (heard == yes)
    :: skip /* its answer is given up */
    fi;
    if
    :: voted || taken_over -> skip
    :: else ->
#ifdef ROLL_BACK_AND_RETRY
        wire[1]!roll_back;
        if
        :: back[1]?heard -> skip
        :: wire[2]!roll_back; back[2]?heard
        fi;
        wire[3]!prepare;
        if
        :: back[3]?heard -> voted = (heard == yes)
        :: skip
        fi
#else
        if
        :: prepared -> voted = true /* the list has it */
        :: else ->
            wire[1]!prepare;
            if
            :: back[1]?heard -> voted = (heard == yes)
            :: skip
            fi
        fi
#endif
    fi;
#ifdef DECIDE_LATE
    if
    :: voted -> confirm_branch(4)
    :: else -> skip
    fi;
#endif
    if
    :: atomic { !taken_over -> decided = true; confirm = voted }
    :: taken_over -> goto dead_now
    fi;
    if
    :: confirm -> confirm_branch(4)
    :: else -> roll_back_and_close(4, 8)
    fi;
    if
    :: atomic { !taken_over -> ended = true }
    :: taken_over -> skip
    fi;
dead_now:
    dead = true
}

/* --- the second coordinator: it may take over at any moment -----------------------------------*/
active proctype successor() {
    mtype:answer heard;
end:
    atomic { begun && !ended -> taken_over = true };
    if
    :: decided -> skip
    :: else ->
        roll_back_and_close(5, 9);
        decided = true;
        confirm = false;
        goto finished
    fi;
    if
    :: confirm -> confirm_branch(6)
    :: else -> roll_back_and_close(6, 9)
    fi;
finished:
    ended = true
}

/* --- a power failure: what was not forced is lost ---------------------------------------------*/
active proctype power() {
end:
    atomic {
        begun && !decided && !taken_over ->
        begun = false;
        lost = true;
        taken_over = true
    }
}

#define QUIET (empty(wire[0]) && empty(wire[1]) && empty(wire[2]) && empty(wire[3]) && \
               empty(wire[4]) && empty(wire[5]) && empty(wire[6]) && empty(wire[7]) && \
               empty(wire[8]) && empty(wire[9]) && empty(wire[10]))

/* --- the third coordinator: it looks for orphans ----------------------------------------------*/
active proctype looker() {
    bool seen;
    bool known;
    mtype:answer heard;
#ifdef LOG_BEFORE_LIST
    known = begun;
    seen = prepared;
#else
    seen = prepared;
    known = begun;
#endif
    if
    :: seen && !known ->
        roll_back_and_close(7, 10)
    :: else -> skip
    fi;
end:
    lost && dead && QUIET;
#ifndef LOOK_ONCE
    if
    :: prepared -> roll_back_and_close(7, 10)
    :: else -> skip
    fi;
#endif
    looked = true
}

/* --- what must be true in the end -------------------------------------------------------------*/
active proctype judge() {
end:
    atomic {
        (ended || (lost && looked)) && QUIET ->
        assert(!prepared);
        assert(noted_worked == (ended && confirm))
    }
}
