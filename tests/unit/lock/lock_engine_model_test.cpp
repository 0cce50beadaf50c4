// SPDX-License-Identifier: BSL-1.0
// The lock engine against a model that is too simple to be wrong: a line for each lock.
#include "core/lock_engine.hpp"
#include "unit/lock/engine_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::core::lock_engine_model_test {
namespace {

using std::chrono::milliseconds;
using test::engine_world;

// Knows who stands where. What lapses is removed at once, where the engine finds it in time.
class model {
public:
    struct wish {
        session_key session = 0;
        request_id id = 0;
        lock_mode mode;
        milliseconds hold_max = milliseconds::max();
        bool granted = false;
        std::uint32_t slot = 0;
        clock::time_point ends = clock::time_point::max();
    };
    using line_type = std::vector<wish>;

    explicit model(clock::time_point now) : now_(now) {}

    bool takes(const std::string& name, lock_mode mode) {
        const auto& line = lines_[name];
        return mode.capacity() == 0 || std::all_of(line.begin(), line.end(), [mode](const wish& w) {
                   return w.mode.capacity() == 0 || w.mode.capacity() == mode.capacity();
               });
    }

    wish ask(const std::string& name, const wish& newcomer, bool queue) {
        auto& line = lines_[name];
        line.push_back(newcomer);
        advance(name);
        const wish came = line.back();
        told_ = came.granted ? std::multiset<std::string>() : told_by(line);
        if (!came.granted && !queue)
            line.pop_back();
        return came;
    }

    // Whom the last one who could not have the lock told: "session.id".
    const std::multiset<std::string>& told() const { return told_; }

    bool others_wait(const std::string& name, session_key session) {
        const auto& line = lines_[name];
        return std::any_of(line.begin(), line.end(), [session](const wish& each) {
            return !each.granted && each.session != session;
        });
    }

    void remove(session_key session, request_id id) {
        remove_if([&](const wish& w) { return w.session == session && w.id == id; });
    }
    void kill(session_key session) {
        remove_if([&](const wish& w) { return w.session == session; });
    }

    void pass(milliseconds span) {
        now_ += span;
        // One after the other, so that the next in line may have ended, too.
        for (bool ended = true; ended;) {
            ended = false;
            for (auto& [name, line] : lines_) {
                ended = std::erase_if(line, [&](const wish& w) { return w.ends <= now_; }) != 0 ||
                        ended;
                advance(name);
            }
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
    std::string line(const std::string& name) {
        std::string holders;
        std::string waiters;
        for (const wish& each : lines_[name]) {
            const auto slot = each.slot == 0 ? "" : "#" + std::to_string(each.slot);
            if (each.granted)
                holders += "[" + text_of(each) + slot + "] ";
            else
                waiters += text_of(each) + " ";
        }
        std::string all = holders + waiters;
        if (!all.empty())
            all.pop_back();
        return all;
    }

private:
    static std::string text_of(const wish& each) {
        return std::to_string(each.session) + "." + std::to_string(each.id);
    }

    // The last of the line asks: all holders hear of it, but its own session and those that one
    // before it, not of the holder's own session, has told.
    static std::multiset<std::string> told_by(const line_type& line) {
        std::multiset<std::string> told;
        for (const wish& holder : line) {
            if (!holder.granted || holder.session == line.back().session)
                continue;
            const bool knows = std::any_of(line.begin(), line.end() - 1, [&](const wish& each) {
                return !each.granted && each.session != holder.session;
            });
            if (!knows)
                told.insert(text_of(holder));
        }
        return told;
    }

    static bool admits(const line_type& line, lock_mode mode) {
        std::size_t holders = 0;
        for (const wish& each : line) {
            if (!each.granted)
                continue;
            ++holders;
            if (each.mode != mode || mode.what() == lock_mode::kind::exclusive)
                return false;
        }
        return mode.what() != lock_mode::kind::permits || holders < mode.capacity();
    }

    static std::uint32_t free_slot(const line_type& line) {
        std::uint32_t slot = 1;
        while (std::any_of(line.begin(), line.end(), [slot](const wish& w) {
            return w.slot == slot;
        }))
            ++slot;
        return slot;
    }

    void advance(const std::string& name) {
        auto& line = lines_[name];
        for (wish& each : line) {
            if (each.granted || quarantined_ || unreachable_.contains(each.session))
                continue;
            if (!admits(line, each.mode))
                return;
            each.slot = each.mode.what() == lock_mode::kind::permits ? free_slot(line) : 0;
            each.granted = true;
            if (each.hold_max != milliseconds::max())
                each.ends = now_ + each.hold_max;
        }
    }

    void advance_all() {
        for (const auto& [name, line] : lines_)
            advance(name);
    }

    template <class Which>
    void remove_if(Which which) {
        for (auto& [name, line] : lines_) {
            std::erase_if(line, which);
            advance(name);
        }
    }

    std::map<std::string, line_type> lines_;
    std::set<session_key> unreachable_;
    std::multiset<std::string> told_;
    clock::time_point now_;
    bool quarantined_ = false;
};

class run {
public:
    explicit run(std::uint64_t seed) : random_(seed) {
        for (int i = 0; i < 4; ++i)
            sessions_.push_back(world_.open());
    }

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
    std::size_t told() const { return told_; }

private:
    unsigned pick(std::size_t of) {
        const std::uniform_int_distribution<unsigned>::param_type range(
            0, static_cast<unsigned>(of) - 1
        );
        return std::uniform_int_distribution<unsigned>()(random_, range);
    }

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

    // What the transaction told, if both know the same just now.
    void note() {
        for (const auto& each : world_.effects) {
            if (each.what != effect::kind::granted)
                continue;
            ++grants_;
            if (!lapsed_) {
                EXPECT_EQ(each.contended, model_.others_wait(each.name, each.to));
            }
        }
    }

    void ask(bool queue) {
        const auto& name = some_name();
        model::wish wish;
        wish.session = some_session();
        wish.id = ++last_id_;
        wish.mode = some_mode(name);
        if (pick(3) == 0)
            wish.hold_max = milliseconds(1'000 * (1 + pick(4)));
        // The dead can have a say about the capacity.
        if (wish.mode.capacity() != 0 || pick(2) == 0)
            settle();
        const bool takes = model_.takes(name, wish.mode);
        const auto expected = takes ? model_.ask(name, wish, queue) : wish;
        const auto said =
            world_.ask_for(wish.session, wish.id, name, wish.mode, queue, wish.hold_max);
        if (!takes) {
            EXPECT_EQ(world_.refused, errc::capacity_differs);
            ++refused_;
            return;
        }
        const auto waits = queue ? answer::kind::queued : answer::kind::refused;
        EXPECT_EQ(said.what, expected.granted ? answer::kind::granted : waits);
        EXPECT_EQ(said.slot, expected.slot);
        if (!lapsed_ && said.what != answer::kind::refused) {
            EXPECT_EQ(said.contended, model_.others_wait(name, wish.session));
        }
        note();
        if (!lapsed_)
            compare_told();
        if (said.what != answer::kind::refused)
            wishes_.emplace_back(wish.session, wish.id);
    }

    void compare_told() {
        std::multiset<std::string> told;
        for (const auto& each : world_.effects) {
            if (each.what == effect::kind::contended)
                told.insert(std::to_string(each.to) + "." + std::to_string(each.id));
        }
        EXPECT_EQ(told, model_.told());
        told_ += told.size();
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
        if (const auto wish = some_wish()) {
            model_.remove(wish->session, wish->id);
            EXPECT_TRUE(world_.withdraw(wish->session, wish->id));
            note();
        }
    }

    void release() {
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
            const auto said = world_.ask_for(wish->session, wish->id, wish->name, wish->mode);
            const auto entry = world_.rows.find(wish->session, wish->id);
            EXPECT_EQ(said.what, entry->granted ? answer::kind::granted : answer::kind::queued);
            EXPECT_EQ(said.token.value, entry->token);
            EXPECT_EQ(said.slot, entry->slot);
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
        world_.rows.now += milliseconds(1'000);
        model_.pass(milliseconds(1'000));
        ended_ += world_.rows.next_ended(world_.rows.now) ? 1u : 0u;
        lapsed_ = true;
        if (pick(2) == 0)
            settle();
    }

    void end() {
        const auto at = pick(sessions_.size());
        model_.kill(sessions_[at]);
        world_.end(sessions_[at]);
        note();
        sessions_[at] = world_.open();
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

    // Whom the lapsed leave something to depends on who can be reached when they are found.
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

    std::mt19937_64 random_;
    engine_world world_;
    model model_{world_.rows.now};
    std::vector<session_key> sessions_;
    std::vector<session_key> expired_;
    std::vector<std::pair<session_key, request_id>> wishes_;
    request_id last_id_ = 0;
    bool lapsed_ = false;  // something may have that the engine has not found yet
    std::size_t grants_ = 0;
    std::size_t refused_ = 0;
    std::size_t ended_ = 0;
    std::size_t told_ = 0;
};

TEST(LockEngineModel, AgreesWithALineForEachLock) {
    std::size_t grants = 0;
    std::size_t refused = 0;
    std::size_t ended = 0;
    std::size_t told = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        run one(seed);
        for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
            one.step();
            if (i % 3 == 2)
                one.compare();
        }
        grants += one.grants();
        refused += one.refused();
        ended += one.ended();
        told += one.told();
        if (testing::Test::HasFailure())
            FAIL() << "with seed " << seed;
    }
    EXPECT_GT(grants, 3'000u) << "the runs must reach something";
    EXPECT_GT(refused, 30u);
    EXPECT_GT(ended, 100u);
    EXPECT_GT(told, 1'000u);
}

}  // namespace
}  // namespace mortise::core::lock_engine_model_test
