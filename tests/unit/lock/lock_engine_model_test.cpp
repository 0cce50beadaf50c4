// SPDX-License-Identifier: BSL-1.0
// The lock engine against a model that is too simple to be wrong: a deque for each lock.
#include "core/lock_engine.hpp"
#include "unit/lock/engine_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::core::lock_engine_model_test {
namespace {

using test::engine_world;

// Knows who stands where. The dead are removed at once, where the engine finds them in time.
class model {
public:
    struct wish {
        session_key session = 0;
        request_id id = 0;
        bool granted = false;
    };

    answer::kind ask(session_key session, request_id id, const std::string& name, bool queue) {
        auto& line = lines_[name];
        line.push_back({session, id, false});
        advance(name);
        if (line.back().granted)
            return answer::kind::granted;
        if (queue)
            return answer::kind::queued;
        line.pop_back();
        return answer::kind::refused;
    }

    void remove(session_key session, request_id id) {
        for (auto& [name, line] : lines_) {
            std::erase_if(line, [&](const wish& w) { return w.session == session && w.id == id; });
            advance(name);
        }
    }

    void kill(session_key session) {
        for (auto& [name, line] : lines_) {
            std::erase_if(line, [&](const wish& w) { return w.session == session; });
            advance(name);
        }
    }

    void set_unreachable(session_key session, bool is) {
        is ? void(unreachable_.insert(session)) : void(unreachable_.erase(session));
        advance_all();
    }

    void set_quarantined(bool is) {
        quarantined_ = is;
        advance_all();
    }

    // In the manner of engine_world::line.
    std::string line(const std::string& name) const {
        std::string holder;
        std::string waiters;
        const auto found = lines_.find(name);
        if (found == lines_.end())
            return {};
        for (const wish& each : found->second) {
            const auto text = std::to_string(each.session) + "." + std::to_string(each.id);
            if (each.granted)
                holder = "[" + text + "] ";
            else
                waiters += text + " ";
        }
        std::string all = holder + waiters;
        if (!all.empty())
            all.pop_back();
        return all;
    }

private:
    void advance(const std::string& name) {
        auto& line = lines_[name];
        for (const wish& each : line) {
            if (each.granted)
                return;
        }
        for (wish& each : line) {
            if (quarantined_ || unreachable_.contains(each.session))
                continue;
            each.granted = true;
            return;
        }
    }

    void advance_all() {
        for (const auto& [name, line] : lines_)
            advance(name);
    }

    std::map<std::string, std::deque<wish>> lines_;
    std::set<session_key> unreachable_;
    bool quarantined_ = false;
};

class run {
public:
    explicit run(std::uint64_t seed) : random_(seed) {
        for (int i = 0; i < 4; ++i)
            sessions_.push_back(world_.open());
    }

    void step() {
        switch (pick(16)) {
        case 0:
        case 1:
        case 2:
        case 3:
            return ask(true);
        case 4:
        case 5:
            return ask(false);
        case 6:
        case 7:
            return withdraw();
        case 8:
        case 9:
        case 10:
            return release();
        case 11:
            return pick(3) == 0 ? expire() : release();
        case 12:
            return pick(3) == 0 ? end() : ask(true);
        case 13:
            return reach();
        case 14:
            return pick(2) == 0 ? quarantine() : break_some();
        default:
            return ask_again();
        }
    }

    // Only when the dead are buried do both know the same.
    void compare() {
        bury();
        for (const auto& name : names)
            ASSERT_EQ(world_.line(name), model_.line(name)) << name;
        EXPECT_EQ(world_.rows.sessions.size(), sessions_.size());
    }

    std::size_t grants() const { return grants_; }

private:
    unsigned pick(std::size_t of) {
        const std::uniform_int_distribution<unsigned>::param_type range(
            0, static_cast<unsigned>(of) - 1
        );
        return std::uniform_int_distribution<unsigned>()(random_, range);
    }

    const std::string& some_name() { return names[pick(names.size())]; }
    session_key some_session() { return sessions_[pick(sessions_.size())]; }

    void note() {
        for (const auto& each : world_.effects)
            grants_ += each.what == effect::kind::granted ? 1u : 0u;
    }

    void ask(bool queue) {
        const auto session = some_session();
        const auto id = ++last_id_;
        const auto name = some_name();
        const auto expected = model_.ask(session, id, name, queue);
        EXPECT_EQ(world_.ask(session, id, name, queue).what, expected);
        note();
        if (expected != answer::kind::refused)
            wishes_.emplace_back(session, id);
    }

    bool lives(session_key session) const {
        return std::find(sessions_.begin(), sessions_.end(), session) != sessions_.end();
    }

    // Of a session that lives; the wishes of the dead are dropped on the way.
    std::pair<session_key, request_id> some_wish() {
        while (!wishes_.empty()) {
            const auto at = pick(wishes_.size());
            const auto wish = wishes_[at];
            if (lives(wish.first) && world_.rows.find(wish.first, wish.second))
                return wish;
            wishes_.erase(wishes_.begin() + at);
        }
        return {};
    }

    void withdraw() {
        const auto [session, id] = some_wish();
        if (session == 0)
            return;
        model_.remove(session, id);
        EXPECT_TRUE(world_.withdraw(session, id));
        note();
    }

    void release() {
        const auto held = world_.holder(some_name());
        if (!held || !lives(held->session))
            return;
        EXPECT_FALSE(world_.release(held->session, held->id, held->token + 1));
        model_.remove(held->session, held->id);
        EXPECT_TRUE(world_.release(held->session, held->id, held->token));
        note();
    }

    void ask_again() {
        const auto [session, id] = some_wish();
        if (const auto entry = world_.rows.find(session, id)) {
            const auto said = world_.ask(session, id, entry->name);
            EXPECT_NE(said.what, answer::kind::refused);
            EXPECT_EQ(said.token.value, world_.rows.find(session, id)->token);
            note();
        }
    }

    void break_some() {
        bury();
        const auto& name = some_name();
        if (const auto held = world_.holder(name)) {
            model_.remove(held->session, held->id);
            EXPECT_EQ(world_.break_grants(name, held->token), 1u);
            note();
        }
    }

    // The session dies, and nobody notices yet.
    void expire() {
        const auto at = pick(sessions_.size());
        const auto session = sessions_[at];
        model_.kill(session);
        world_.expire(session);
        expired_.push_back(session);
        sessions_[at] = world_.open();
    }

    void end() {
        const auto at = pick(sessions_.size());
        model_.kill(sessions_[at]);
        world_.end(sessions_[at]);
        note();
        sessions_[at] = world_.open();
    }

    void bury() {
        for (const auto session : std::exchange(expired_, {})) {
            world_.end(session);
            note();
        }
    }

    // Whom the dead leave something to depends on who can be reached when they are found.
    void reach() {
        bury();
        const auto session = some_session();
        const bool unreachable = pick(4) == 0;
        model_.set_unreachable(session, unreachable);
        world_.set_unreachable(session, unreachable);
        advance_all();
    }

    void quarantine() {
        bury();
        const bool begins = world_.rows.quarantine_until <= world_.rows.now && pick(4) == 0;
        world_.rows.quarantine_until = world_.rows.now + std::chrono::seconds(begins ? 1 : 0);
        model_.set_quarantined(begins);
        advance_all();
    }

    void advance_all() {
        for (const auto& name : names) {
            world_.advance(name);
            note();
        }
    }

    inline static const std::vector<std::string> names = {"a", "b", "c"};

    std::mt19937_64 random_;
    engine_world world_;
    model model_;
    std::vector<session_key> sessions_;
    std::vector<session_key> expired_;
    std::vector<std::pair<session_key, request_id>> wishes_;
    request_id last_id_ = 0;
    std::size_t grants_ = 0;
};

TEST(LockEngineModel, AgreesWithADequeForEachLock) {
    std::size_t grants = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        run one(seed);
        for (int i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
            one.step();
            if (i % 3 == 2)
                one.compare();
        }
        grants += one.grants();
        if (testing::Test::HasFailure())
            FAIL() << "with seed " << seed;
    }
    EXPECT_GT(grants, 1'800u) << "the runs must reach something";
}

}  // namespace
}  // namespace mortise::core::lock_engine_model_test
