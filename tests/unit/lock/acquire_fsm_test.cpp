// SPDX-License-Identifier: BSL-1.0
#include "core/acquire_fsm.hpp"

#include <boost/asio/error.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::core::acquire_fsm_test {
namespace {

using action = acquire_fsm::action;

const error_code aborted = boost::asio::error::operation_aborted;
const error_code unavailable = errc::store_unavailable;

answer reply(answer::kind type) {
    answer given;
    given.type = type;
    if (type == answer::kind::granted)
        given.token.value = 7;
    return given;
}

fencing_token token_of_push() {
    fencing_token token;
    token.value = 7;
    return token;
}

// Everything that can happen to it, by name.
using happening = std::function<action(acquire_fsm&)>;
const std::map<std::string, happening>& events() {
    static const std::map<std::string, happening> all = {
        {"ready", [](auto& f) { return f.session_ready(); }},
        {"answer granted", [](auto& f) { return f.answered(reply(answer::kind::granted), true); }},
        {"answer unproved",
         [](auto& f) { return f.answered(reply(answer::kind::granted), false); }},
        {"answer queued", [](auto& f) { return f.answered(reply(answer::kind::queued), true); }},
        {"answer refused", [](auto& f) { return f.answered(reply(answer::kind::refused), true); }},
        {"answer not done", [](auto& f) { return f.refused(unavailable); }},
        {"answer lost", [](auto& f) { return f.request_failed(unavailable); }},
        {"connection lost", [](auto& f) { return f.connection_lost(unavailable); }},
        {"push", [](auto& f) { return f.granted(token_of_push(), true); }},
        {"push unproved", [](auto& f) { return f.granted(token_of_push(), false); }},
        {"proof", [](auto& f) { return f.proved(); }},
        {"missing", [](auto& f) { return f.missing(); }},
        {"revoked", [](auto& f) { return f.revoked(); }},
        {"time out", [](auto& f) { return f.stop(errc::busy); }},
        {"cancel", [](auto& f) { return f.stop(aborted); }},
        {"withdrawn", [](auto& f) { return f.withdrawn({}); }},
        {"withdraw lost", [](auto& f) { return f.withdrawn(unavailable); }},
        {"retry", [](auto& f) { return f.retry(); }},
        {"budget over", [](auto& f) { return f.budget_over(); }},
        {"session lost", [](auto& f) { return f.session_lost(); }},
    };
    return all;
}

std::string text_of(action step) {
    switch (step) {
    case action::none:
        return "none";
    case action::send_request:
        return "request";
    case action::ask_again:
        return "ask again";
    case action::send_withdraw:
        return "withdraw";
    case action::try_later:
        return "try later";
    case action::finish:
        return "finish";
    }
    return "?";
}

std::string text_of(const error_code& code) {
    if (!code)
        return "ok";
    if (code == errc::busy)
        return "busy";
    return code == aborted ? "aborted" : code == unavailable ? "failed" : code.message();
}

// Names the state, by its visible facts and by the reactions of a copy.
std::string text_of(const acquire_fsm& fsm) {
    std::string text = "requesting";
    acquire_fsm probe = fsm;
    if (fsm.settled())
        return "done " + text_of(fsm.outcome());
    if (fsm.unproved())
        text = "unproved";
    else if (fsm.at_store())
        text = "queued";
    else if (probe.session_ready() == action::send_request)
        text = "idle";
    else if (fsm.unheard())
        text = "unheard";
    else if (probe.retry() == action::send_withdraw)
        text = "resting";
    else if (probe.withdrawn({}); probe.settled())
        text = "undoing";
    if (fsm.stopped())
        text += " " + text_of(fsm.outcome());
    return fsm.finished() ? text + " over" : text;
}

// The ways to the states in which the events are tried.
const std::map<std::string, std::vector<std::string>>& ways() {
    static const std::map<std::string, std::vector<std::string>> all = {
        {"idle", {}},
        {"requesting", {"ready"}},
        {"unheard", {"ready", "connection lost"}},
        {"requesting busy", {"ready", "time out"}},
        {"requesting busy over", {"ready", "time out", "budget over"}},
        {"requesting aborted", {"ready", "cancel"}},
        {"requesting aborted over", {"ready", "cancel", "budget over"}},
        {"queued", {"ready", "answer queued"}},
        {"unproved", {"ready", "answer unproved"}},
        {"unproved busy", {"ready", "time out", "answer unproved"}},
        {"unproved busy over", {"ready", "time out", "answer unproved", "budget over"}},
        {"undoing aborted", {"ready", "answer queued", "cancel"}},
        {"undoing aborted over", {"ready", "answer queued", "cancel", "budget over"}},
        {"undoing failed", {"ready", "answer lost"}},
        {"resting aborted", {"ready", "answer queued", "cancel", "withdraw lost"}},
        {"resting aborted over",
         {"ready", "answer queued", "cancel", "budget over", "withdraw lost"}},
        {"done ok", {"ready", "answer granted"}},
        {"done busy", {"ready", "answer refused"}},
        {"done failed", {"ready", "answer not done"}},
        {"done aborted", {"cancel"}},
    };
    return all;
}

struct cell {
    const char* from;
    const char* event;
    const char* action;
    const char* to;
};

void PrintTo(const cell& row, std::ostream* out) {
    *out << row.from << " -- " << row.event << " --> " << row.action << ", " << row.to;
}

// An event that is not in this table does nothing: no action, no other state.
const cell table[] = {
    {"idle", "ready", "request", "requesting"},
    {"idle", "time out", "finish", "done busy"},
    {"idle", "cancel", "finish", "done aborted"},

    {"requesting", "answer granted", "finish", "done ok"},
    {"requesting", "answer unproved", "none", "unproved"},
    {"requesting", "answer queued", "none", "queued"},
    {"requesting", "answer refused", "finish", "done busy"},
    {"requesting", "answer not done", "finish", "done failed"},
    {"requesting", "answer lost", "withdraw", "undoing failed"},
    {"requesting", "connection lost", "try later", "unheard"},
    {"requesting", "push", "finish", "done ok"},
    {"requesting", "push unproved", "none", "unproved"},
    {"requesting", "time out", "none", "requesting busy"},
    {"requesting", "cancel", "none", "requesting aborted"},
    {"requesting", "session lost", "none", "idle"},

    // Nobody knows who has the lock: to call it busy would be a guess.
    {"unheard", "retry", "ask again", "requesting"},
    {"unheard", "push", "finish", "done ok"},
    {"unheard", "push unproved", "none", "unproved"},
    {"unheard", "time out", "withdraw", "undoing failed"},
    {"unheard", "cancel", "withdraw", "undoing aborted"},
    {"unheard", "session lost", "none", "idle"},

    // Out of time is no reason to refuse a grant that came a moment later; a cancellation is.
    {"requesting busy", "answer granted", "finish", "done ok"},
    {"requesting busy", "answer unproved", "none", "unproved busy"},
    {"requesting busy", "answer queued", "withdraw", "undoing busy"},
    {"requesting busy", "answer refused", "finish", "done busy"},
    {"requesting busy", "answer not done", "finish", "done busy"},
    {"requesting busy", "answer lost", "withdraw", "undoing busy"},
    {"requesting busy", "connection lost", "withdraw", "undoing busy"},
    {"requesting busy", "cancel", "none", "requesting aborted"},
    {"requesting busy", "budget over", "finish", "requesting busy over"},
    {"requesting busy", "session lost", "finish", "done busy"},

    {"requesting busy over", "answer granted", "withdraw", "undoing busy over"},
    {"requesting busy over", "answer unproved", "withdraw", "undoing busy over"},
    {"requesting busy over", "answer queued", "withdraw", "undoing busy over"},
    {"requesting busy over", "answer refused", "none", "done busy"},
    {"requesting busy over", "answer not done", "none", "done busy"},
    {"requesting busy over", "answer lost", "withdraw", "undoing busy over"},
    {"requesting busy over", "connection lost", "withdraw", "undoing busy over"},
    {"requesting busy over", "session lost", "none", "done busy"},

    {"requesting aborted", "answer granted", "withdraw", "undoing aborted"},
    {"requesting aborted", "answer unproved", "withdraw", "undoing aborted"},
    {"requesting aborted", "answer queued", "withdraw", "undoing aborted"},
    {"requesting aborted", "answer refused", "finish", "done aborted"},
    {"requesting aborted", "answer not done", "finish", "done aborted"},
    {"requesting aborted", "answer lost", "withdraw", "undoing aborted"},
    {"requesting aborted", "connection lost", "withdraw", "undoing aborted"},
    {"requesting aborted", "budget over", "finish", "requesting aborted over"},
    {"requesting aborted", "session lost", "finish", "done aborted"},

    {"requesting aborted over", "answer granted", "withdraw", "undoing aborted over"},
    {"requesting aborted over", "answer unproved", "withdraw", "undoing aborted over"},
    {"requesting aborted over", "answer queued", "withdraw", "undoing aborted over"},
    {"requesting aborted over", "answer refused", "none", "done aborted"},
    {"requesting aborted over", "answer not done", "none", "done aborted"},
    {"requesting aborted over", "answer lost", "withdraw", "undoing aborted over"},
    {"requesting aborted over", "connection lost", "withdraw", "undoing aborted over"},
    {"requesting aborted over", "session lost", "none", "done aborted"},

    {"queued", "push", "finish", "done ok"},
    {"queued", "push unproved", "none", "unproved"},
    {"queued", "missing", "request", "requesting"},
    {"queued", "time out", "withdraw", "undoing busy"},
    {"queued", "cancel", "withdraw", "undoing aborted"},
    {"queued", "session lost", "none", "idle"},

    {"unproved", "proof", "finish", "done ok"},
    {"unproved", "missing", "request", "requesting"},
    {"unproved", "revoked", "none", "queued"},
    {"unproved", "time out", "withdraw", "undoing busy"},
    {"unproved", "cancel", "withdraw", "undoing aborted"},
    {"unproved", "session lost", "none", "idle"},

    {"unproved busy", "proof", "finish", "done ok"},
    {"unproved busy", "missing", "finish", "done busy"},
    {"unproved busy", "revoked", "withdraw", "undoing busy"},
    {"unproved busy", "cancel", "withdraw", "undoing aborted"},
    {"unproved busy", "budget over", "finish", "unproved busy over"},
    {"unproved busy", "session lost", "finish", "done busy"},

    // The caller was told that it is not his: the proof comes too late for him.
    {"unproved busy over", "proof", "withdraw", "undoing busy over"},
    {"unproved busy over", "missing", "none", "done busy"},
    {"unproved busy over", "revoked", "withdraw", "undoing busy over"},
    {"unproved busy over", "session lost", "none", "done busy"},

    {"undoing aborted", "withdrawn", "finish", "done aborted"},
    {"undoing aborted", "withdraw lost", "try later", "resting aborted"},
    {"undoing aborted", "budget over", "finish", "undoing aborted over"},
    {"undoing aborted", "session lost", "finish", "done aborted"},

    {"undoing aborted over", "withdrawn", "none", "done aborted"},
    {"undoing aborted over", "withdraw lost", "try later", "resting aborted over"},
    {"undoing aborted over", "session lost", "none", "done aborted"},

    {"undoing failed", "withdrawn", "finish", "done failed"},
    {"undoing failed", "withdraw lost", "try later", "resting failed"},
    {"undoing failed", "budget over", "finish", "undoing failed over"},
    {"undoing failed", "session lost", "finish", "done failed"},

    {"resting aborted", "retry", "withdraw", "undoing aborted"},
    {"resting aborted", "budget over", "finish", "resting aborted over"},
    {"resting aborted", "session lost", "finish", "done aborted"},
    {"resting aborted over", "retry", "withdraw", "undoing aborted over"},
    {"resting aborted over", "session lost", "none", "done aborted"},
};

// A withdrawal is answered once for each that was sent.
bool can_happen(const std::string& from, const std::string& event) {
    return !(from.starts_with("resting") && event.starts_with("withdraw"));
}

acquire_fsm brought_to(const std::string& state) {
    acquire_fsm fsm;
    for (const auto& step : ways().at(state))
        events().at(step)(fsm);
    EXPECT_EQ(text_of(fsm), state);
    return fsm;
}

TEST(AcquireFsm, DoesWhatTheTableSays) {
    for (const auto& row : table) {
        acquire_fsm fsm = brought_to(row.from);
        EXPECT_EQ(text_of(events().at(row.event)(fsm)), row.action) << testing::PrintToString(row);
        EXPECT_EQ(text_of(fsm), row.to) << testing::PrintToString(row);
    }
}

TEST(AcquireFsm, DoesNothingWhereTheTableSaysNothing) {
    std::set<std::pair<std::string, std::string>> covered;
    for (const auto& row : table)
        covered.emplace(row.from, row.event);
    for (const auto& [state, way] : ways()) {
        for (const auto& [name, happen] : events()) {
            if (covered.contains({state, name}) || !can_happen(state, name))
                continue;
            acquire_fsm fsm = brought_to(state);
            EXPECT_EQ(happen(fsm), action::none) << state << " -- " << name;
            EXPECT_EQ(text_of(fsm), state) << "after " << name;
        }
    }
}

TEST(AcquireFsm, GivesTheTokenOfTheGrantAndOnlyWithSuccess) {
    EXPECT_EQ(brought_to("done ok").token().value, 7u);
    for (const char* state :
         {"idle", "unproved", "unproved busy over", "done busy", "done aborted"})
        EXPECT_FALSE(brought_to(state).token()) << state;
}

TEST(AcquireFsm, ForgetsAGrantThatWasNeverProvedWhenTheSessionIsLost) {
    acquire_fsm fsm = brought_to("unproved");
    fsm.session_lost();
    EXPECT_EQ(fsm.session_ready(), action::send_request);
    EXPECT_EQ(fsm.proved(), action::none)
        << "the proof of the new session is not one of the old grant";
    EXPECT_EQ(text_of(fsm), "requesting");
}

// The push can come before the answer to the request that caused it.
TEST(AcquireFsm, DoesNotAskAgainWhileItsOwnAnswerIsToCome) {
    acquire_fsm fsm = brought_to("requesting");
    ASSERT_EQ(fsm.granted(token_of_push(), false), action::none);
    EXPECT_EQ(fsm.missing(), action::none);
    EXPECT_EQ(fsm.answered(reply(answer::kind::granted), true), action::none);
    EXPECT_EQ(fsm.missing(), action::send_request);
}

}  // namespace
}  // namespace mortise::core::acquire_fsm_test
