// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_LOCK_ENGINE_WALK_HPP
#define MORTISE_TESTS_UNIT_LOCK_ENGINE_WALK_HPP

#include "core/lock_engine.hpp"
#include "support/choices.hpp"
#include "unit/lock/engine_model.hpp"
#include "unit/lock/engine_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::core::test {

/// The engine and its model do the same things, which somebody chooses.
class engine_walk {
public:
    explicit engine_walk(const mortise::test::choices& source) : source_(source) {
        for (int i = 0; i < 4; ++i)
            sessions_.push_back(world_.open());
    }

    bool used_up() const noexcept { return source_.used_up(); }

    void step() {
        switch (pick(18)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
            return ask(true);
        case 5:
        case 6:
            return ask(false);
        case 7:
        case 8:
            return withdraw();
        case 9:
        case 10:
        case 11:
            return release();
        case 12:
            return pick(3) == 0 ? expire() : release();
        case 13:
            return pick(3) == 0 ? end() : ask(true);
        case 14:
            return reach();
        case 15:
            return pick(2) == 0 ? quarantine() : break_some();
        case 16:
            return pass();
        default:
            return ask_again();
        }
    }

    // Only when everything that has lapsed is found do both know the same.
    void compare() {
        settle();
        for (const auto& name : names)
            ASSERT_EQ(world_.line(name), model_.line(name)) << name;
        EXPECT_EQ(world_.rows.sessions.size(), sessions_.size());
    }

    std::size_t grants() const { return grants_; }
    std::size_t refused() const { return refused_; }
    std::size_t ended() const { return ended_; }
    std::size_t notice_count() const { return notice_count_; }

private:
    unsigned pick(std::size_t of) { return source_.pick(of); }

    const std::string& some_name() { return names[pick(names.size())]; }
    session_key some_session() { return sessions_[pick(sessions_.size())]; }

    lock_mode some_mode(const std::string& name) {
        switch (pick(5)) {
        case 0:
        case 1:
            return lock_mode::exclusive();
        case 2:
        case 3:
            return lock_mode::shared();
        default:
            return lock_mode::permits(name == "a" || pick(8) == 0 ? 3 : 2);
        }
    }

    // Compares the messages of the transaction, if both know the same just now.
    void note() {
        for (const auto& each : world_.effects) {
            if (each.type != effect::kind::granted)
                continue;
            ++grants_;
            if (!lapsed_) {
                EXPECT_EQ(each.contended, model_.others_wait(each.name, each.to));
            }
        }
    }

    void ask(bool queue) {
        const auto& name = some_name();
        engine_model::wish wish;
        wish.session = some_session();
        wish.id = ++last_id_;
        wish.mode = some_mode(name);
        if (pick(3) == 0)
            wish.hold_max = std::chrono::milliseconds(1'000 * (1 + pick(4)));
        // The dead can have a say about the capacity.
        if (wish.mode.capacity() != 0 || pick(2) == 0)
            settle();
        const bool takes = model_.takes(name, wish.mode);
        const auto expected = takes ? model_.ask(name, wish, queue) : wish;
        const auto reply =
            world_.ask_for(wish.session, wish.id, name, wish.mode, queue, wish.hold_max);
        if (!takes) {
            EXPECT_EQ(world_.refused, errc::capacity_differs);
            ++refused_;
            return;
        }
        const auto waits = queue ? answer::kind::queued : answer::kind::refused;
        EXPECT_EQ(reply.type, expected.granted ? answer::kind::granted : waits);
        EXPECT_EQ(reply.slot, expected.slot);
        if (!lapsed_ && reply.type != answer::kind::refused) {
            EXPECT_EQ(reply.contended, model_.others_wait(name, wish.session));
        }
        note();
        if (!lapsed_)
            compare_notices();
        if (reply.type != answer::kind::refused)
            wishes_.emplace_back(wish.session, wish.id);
    }

    void compare_notices() {
        std::multiset<std::string> informed;
        for (const auto& each : world_.effects) {
            if (each.type == effect::kind::contended)
                informed.insert(std::to_string(each.to) + "." + std::to_string(each.id));
        }
        EXPECT_EQ(informed, model_.notices());
        notice_count_ += informed.size();
    }

    bool lives(session_key session) const {
        return std::find(sessions_.begin(), sessions_.end(), session) != sessions_.end();
    }
    bool lapsed(const lock_entry& entry) const {
        return !lives(entry.session) || entry.ends() <= world_.rows.now;
    }

    // One that has not lapsed; those that have are dropped on the way.
    std::optional<lock_entry> some_wish() {
        while (!wishes_.empty()) {
            const auto at = pick(wishes_.size());
            const auto entry = world_.rows.find(wishes_[at].first, wishes_[at].second);
            if (entry && !lapsed(*entry))
                return entry;
            wishes_.erase(wishes_.begin() + at);
        }
        return std::nullopt;
    }

    std::optional<lock_entry> some_holder(const std::string& name) {
        auto holders = world_.rows.holders(name);
        std::erase_if(holders, [this](const lock_entry& each) { return lapsed(each); });
        if (holders.empty())
            return std::nullopt;
        return holders[pick(holders.size())];
    }

    void withdraw() {
        settle_permits();
        if (const auto wish = some_wish()) {
            model_.remove(wish->session, wish->id);
            EXPECT_TRUE(world_.withdraw(wish->session, wish->id));
            note();
        }
    }

    void release() {
        settle_permits();
        const auto held = some_holder(some_name());
        if (!held)
            return;
        EXPECT_FALSE(world_.release(held->session, held->id, held->token + 1, held->slot));
        EXPECT_FALSE(world_.release(held->session, held->id, held->token, held->slot + 1));
        model_.remove(held->session, held->id);
        EXPECT_TRUE(world_.release(held->session, held->id, held->token, held->slot));
        note();
    }

    void ask_again() {
        if (const auto wish = some_wish()) {
            const auto reply = world_.ask_for(wish->session, wish->id, wish->name, wish->mode);
            const auto entry = world_.rows.find(wish->name, wish->session, wish->id);
            EXPECT_EQ(reply.type, entry->granted ? answer::kind::granted : answer::kind::queued);
            EXPECT_EQ(reply.token.value, entry->token);
            EXPECT_EQ(reply.slot, entry->slot);
            note();
        }
    }

    void break_some() {
        settle();
        const auto& name = some_name();
        const auto held = some_holder(name);
        if (!held)
            return;
        std::size_t expected = 0;
        for (const auto& each : world_.rows.holders(name)) {
            if (each.token != held->token)
                continue;
            ++expected;
            model_.remove(each.session, each.id);
        }
        EXPECT_EQ(world_.break_grants(name, held->token, held->slot), expected);
        note();
    }

    // The session dies, and nobody notices yet.
    void expire() {
        settle_permits();
        const auto at = pick(sessions_.size());
        const auto session = sessions_[at];
        model_.kill(session);
        world_.expire(session);
        expired_.push_back(session);
        lapsed_ = true;
        sessions_[at] = world_.open();
    }

    // Grants end, and perhaps nobody notices yet.
    void pass() {
        quarantine_ends();
        world_.rows.now += std::chrono::milliseconds(1'000);
        model_.pass(std::chrono::milliseconds(1'000));
        ended_ += world_.rows.next_ended(world_.rows.now) ? 1u : 0u;
        lapsed_ = true;
        if (pick(2) == 0)
            settle();
    }

    void end() {
        settle_permits();
        const auto at = pick(sessions_.size());
        model_.kill(sessions_[at]);
        world_.end(sessions_[at]);
        note();
        sessions_[at] = world_.open();
    }

    // The lowest free slot depends on who is found first: sessions that lapsed, or those that leave
    // now.
    void settle_permits() {
        const bool permits = std::any_of(names.begin(), names.end(), [this](const auto& name) {
            const auto first = world_.rows.next(name, true, 0);
            return first && first->mode.capacity() != 0;
        });
        if (lapsed_ && permits)
            settle();
    }

    void settle() {
        lapsed_ = true;
        for (const auto session : std::exchange(expired_, {})) {
            world_.end(session);
            note();
        }
        world_.expire_grants();
        note();
        lapsed_ = false;
    }

    // The heirs of lapsed sessions depend on who can be reached when these are found.
    void reach() {
        settle();
        const auto session = some_session();
        const bool unreachable = pick(4) == 0;
        model_.set_unreachable(session, unreachable);
        world_.set_unreachable(session, unreachable);
        advance_all();
    }

    void quarantine() {
        settle();
        if (world_.rows.quarantine_until > world_.rows.now || pick(4) != 0)
            return quarantine_ends();
        world_.rows.quarantine_until = world_.rows.now + std::chrono::hours(1);
        model_.set_quarantined(true);
    }

    void quarantine_ends() {
        settle();
        world_.rows.quarantine_until = world_.rows.now;
        model_.set_quarantined(false);
        advance_all();
    }

    void advance_all() {
        for (const auto& name : names) {
            world_.advance(name);
            note();
        }
    }

    inline static const std::vector<std::string> names = {"a", "b", "c"};

    mortise::test::choices source_;
    engine_world world_;
    engine_model model_{world_.rows.now};
    std::vector<session_key> sessions_;
    std::vector<session_key> expired_;
    std::vector<std::pair<session_key, request_id>> wishes_;
    request_id last_id_ = 0;
    bool lapsed_ = false;  // something may have that the engine has not found yet
    std::size_t grants_ = 0;
    std::size_t refused_ = 0;
    std::size_t ended_ = 0;
    std::size_t notice_count_ = 0;
};

}  // namespace mortise::core::test

#endif
