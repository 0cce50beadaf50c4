// SPDX-License-Identifier: BSL-1.0
// The queue rules on SQL rows do what they do on rows in memory:
// the same random operations on both.
#include "core/lock_engine.hpp"
#include "sqlite/query.hpp"
#include "store/memory/memory_rows.hpp"
#include "store/sqlite/sql_rows.hpp"
#include "store/sqlite/store_files.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::sql_rows_test {
namespace {

using core::lock_engine;
using core::session_key;
using sqlite_detail::sqlite_query;
using store_detail::slot_word;
using store_detail::sql_rows;

// Sessions have slots of the same number as their key.
class sql_world {
public:
    sql_world() { files_.open(now()); }

    clock::time_point now() const { return now_; }
    void pass(clock::duration span) { now_ += span; }

    session_key open() {
        const session_key key = ++last_key_;
        sqlite_query query(
            files_.db(), "INSERT INTO session VALUES(?1, ?1, 1, ?1, ?1, 0, '', '', 1000, 0)"
        );
        query.bind(key).step();
        auto& slots = *files_.slots();
        slots.claim(key, key, key);
        const auto later = now() + std::chrono::hours(1);
        slots.swap(
            key, slots.word(key), slots.word(key).next(slot_word::microseconds_until(later))
        );
        return key;
    }

    void expire(session_key key) {
        const auto word = files_.slots()->word(key);
        files_.slots()->swap(
            key, word, slot_word(word.incarnation(), slot_word::microseconds_until(now()))
        );
    }

    template <class Work>
    auto transact(session_key actor, Work work) {
        EXPECT_TRUE(files_.db().step("BEGIN IMMEDIATE"));
        sql_rows rows(files_.db(), *files_.slots(), index_, actor, now());
        lock_engine engine(rows, now());
        auto result = work(engine);
        files_.slots()->arm(last_key_);
        rows.publish();
        changed = rows.changed_locks();
        EXPECT_EQ(files_.slots()->stirred(last_key_), changed) << "counted before the commit";
        check_ends();
        EXPECT_TRUE(files_.db().step("COMMIT")) << files_.db().text();
        effects = engine.take_effects();
        rows.settle();
        for (const auto& each : rows.buried()) {
            if (each.has_slot)
                files_.slots()->free(each.slot);
        }
        return result;
    }

    std::string line(const std::string& name) {
        sql_rows rows(files_.db(), *files_.slots(), index_, 0, now());
        return line_of(rows, name);
    }

    template <class Rows>
    static std::string line_of(Rows& rows, const std::string& name) {
        std::string text;
        for (const bool granted : {true, false}) {
            std::uint64_t after = 0;
            while (const auto entry = rows.next(name, granted, after)) {
                after = entry->ordinal;
                text += std::to_string(entry->session) + "." + std::to_string(entry->id) + "=" +
                        std::to_string(entry->token) + "#" + std::to_string(entry->slot) +
                        (granted ? "! " : " ");
            }
        }
        return text;
    }

    store_detail::slot_view slot(session_key key) { return files_.slots()->view(key); }
    bool failed() { return files_.db().failed(); }

    std::vector<core::effect> effects;
    bool changed = false;  ///< Whether the last transaction changed a lock.

private:
    // A process that dies after the commit must have left no end that is too late.
    void check_ends() {
        sqlite_query query(
            files_.db(), "SELECT session, min(ends) FROM entry WHERE ends > 0 GROUP BY session"
        );
        while (query.step()) {
            const auto first = clock::time_point(clock::duration(query.signed_number(1)));
            const auto ends = files_.slots()->view(query.number(0)).ends;
            EXPECT_TRUE(ends != clock::time_point() && ends <= first);
        }
    }

    store_folder folder_;
    store_detail::store_files files_{folder_.config()};
    store_detail::session_index index_;
    session_key last_key_ = 0;
    clock::time_point now_{std::chrono::hours(1)};
};

class memory_world {
public:
    memory_world() { rows.now = clock::time_point(std::chrono::hours(1)); }

    session_key open() {
        const session_key key = ++rows.last_key;
        rows.sessions[key].deadline = clock::time_point::max();
        return key;
    }

    void expire(session_key key) { rows.sessions[key].deadline = rows.now; }

    template <class Work>
    auto transact(session_key, Work work) {
        lock_engine engine(rows, rows.now);
        auto result = work(engine);
        effects = engine.take_effects();
        return result;
    }

    store_detail::memory_rows rows;
    std::vector<core::effect> effects;
};

std::string text_of(const std::vector<core::effect>& effects) {
    std::string text;
    for (const auto& each : effects) {
        text += std::to_string(static_cast<int>(each.type)) + ":" + std::to_string(each.to) + "." +
                std::to_string(each.id) + "=" + std::to_string(each.token) + "#" +
                std::to_string(each.slot) + (each.contended ? "!" : "") + each.name + " ";
    }
    return text;
}

std::string text_of(const answer& given) {
    return std::to_string(static_cast<int>(given.type)) + "/" + std::to_string(given.token.value) +
           "/" + std::to_string(given.slot) + "/" + std::to_string(given.position) +
           (given.contended ? "!" : "");
}

std::string text_of(const result<answer>& given) {
    return given ? text_of(*given) : given.error().message();
}

std::string text_of(bool given) {
    return given ? "yes" : "no";
}

class run {
public:
    /// Few names make long queues.
    run(std::uint64_t seed, std::size_t names) : random_(seed), names_(all_names(names)) {
        for (int i = 0; i < 4; ++i)
            open();
    }

    void step() {
        const session_key who = somebody();
        switch (pick(15)) {
        case 0:
            return break_some();
        case 1:
            if (pick(4) == 0)
                return end(who, false);
            return;
        case 2:
            memory_.rows.now += std::chrono::seconds(1);
            return sql_.pass(std::chrono::seconds(1));
        case 3:
            return both(0, [](lock_engine& engine) { return expire(engine); });
        case 4:
            if (pick(4) == 0)
                return end(who, true);
            if (!dead_.empty())
                return reap(pick(dead_.size()));
            return;
        default:
            return act(who);
        }
    }

    /// The most entries that one lock had.
    std::size_t longest() const { return longest_; }

    void compare() {
        for (const auto& [name, lock] : memory_.rows.locks)
            longest_ = std::max(longest_, lock.granted.size() + lock.waiting.size());
        for (const auto& name : names_)
            ASSERT_EQ(sql_.line(name), sql_world::line_of(memory_.rows, name)) << name;
        for (const session_key key : sessions_) {
            const auto seen = sql_.slot(key);
            const auto& known = memory_.rows.sessions.at(key);
            ASSERT_EQ(seen.grants, known.grants);
            ASSERT_EQ(seen.requests, known.requests);
            ASSERT_EQ(seen.changes, known.changes);
            ASSERT_EQ(seen.ends, first_end_of(key));
        }
        ASSERT_FALSE(sql_.failed());
    }

private:
    using operation = std::function<std::string(lock_engine&)>;

    static std::vector<std::string> all_names(std::size_t count) {
        std::vector<std::string> names{
            "a", std::string("a\0b", 3), "B\xff", std::string(1024, 'x')};
        names.resize(count);
        return names;
    }

    std::size_t pick(std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
    }

    clock::time_point first_end_of(session_key key) const {
        for (const auto& [when, of] : memory_.rows.ends) {
            if (of.first == key)
                return when;
        }
        return {};
    }

    void open() {
        const session_key key = sql_.open();
        EXPECT_EQ(memory_.open(), key);
        sessions_.push_back(key);
    }

    template <class Work>
    void both(session_key actor, Work work) {
        const auto changes = memory_.rows.changes;
        const auto one = memory_.transact(actor, work);
        const auto other = sql_.transact(actor, work);
        EXPECT_EQ(one, other);
        EXPECT_EQ(text_of(memory_.effects), text_of(sql_.effects));
        EXPECT_EQ(memory_.rows.changes != changes, sql_.changed);
    }

    // Never one that has expired: in a store it is refused before it comes to the rows.
    session_key somebody() {
        const auto holder = memory_.rows.next(names_[pick(names_.size())], true, 0);
        if (holder && pick(2) != 0 &&
            std::find(sessions_.begin(), sessions_.end(), holder->session) != sessions_.end())
            return holder->session;
        return sessions_[pick(sessions_.size())];
    }

    // Does the operations of one session in one transaction.
    void act(session_key who) {
        std::vector<operation> all;
        for (std::size_t left = 1 + pick(3); left != 0; --left)
            all.push_back(some_operation(who));
        both(who, [&](lock_engine& engine) {
            std::string text;
            for (const auto& each : all)
                text += each(engine) + ' ';
            return text;
        });
    }

    operation some_operation(session_key who) {
        switch (pick(10)) {
        case 0:
        case 1:
        case 2:
        case 3:
            return ask(who, pick(4) != 0);
        case 4:
        case 5:
        case 6:
            return release(who);
        case 7:
        case 8: {
            const request_id id = 1 + pick(last_id_ + 1);
            const auto name = name_of(who, id);
            return [=](lock_engine& engine) { return text_of(engine.withdraw(who, name, id)); };
        }
        default:
            return draw(who);
        }
    }

    operation ask(session_key who, bool queue) {
        lock_request wish;
        wish.id = pick(8) == 0 ? 1 + pick(last_id_ + 1) : ++last_id_;
        wish.name = name_of(who, wish.id);
        wish.queue = queue;
        const lock_mode modes[] = {
            lock_mode::exclusive(),
            lock_mode::shared(),
            lock_mode::permits(2),
            lock_mode::permits(3)};
        wish.mode = modes[pick(4)];
        if (pick(4) == 0)
            wish.hold_max = some_hold();
        return [=](lock_engine& engine) { return text_of(engine.request(who, wish)); };
    }

    operation release(session_key who) {
        const auto& name = names_[pick(names_.size())];
        const auto holder = memory_.rows.next(name, true, 0);
        const auto id = holder ? holder->id : 1;
        const auto token = (holder ? holder->token : 0) + (pick(8) == 0 ? 1 : 0);
        const auto slot = holder ? holder->slot : 0;
        return [=](lock_engine& engine) {
            return text_of(engine.release(who, {name, id, token, slot}));
        };
    }

    void break_some() {
        const auto& name = names_[pick(names_.size())];
        const auto holder = memory_.rows.next(name, true, 0);
        const auto token = holder ? holder->token : 1;
        const auto slot = holder ? holder->slot : 0;
        both(0, [&](lock_engine& engine) {
            return std::to_string(engine.break_grants(name, token, slot));
        });
    }

    operation draw(session_key who) {
        const auto holder = memory_.rows.next(names_[pick(names_.size())], true, 0);
        const auto held = holder.value_or(core::lock_entry());
        const std::uint64_t bases = 1 + pick(3);
        return [=](lock_engine& engine) {
            const core::grant_key key{held.name, held.id, held.token, held.slot};
            return text_of(engine.draw(who, key, bases).has_value());
        };
    }

    // Ended, or expired: its entries stay until somebody meets them, or they are reaped.
    void end(session_key who, bool expired) {
        std::erase(sessions_, who);
        dead_.push_back(who);
        if (expired) {
            memory_.expire(who);
            sql_.expire(who);
        } else {
            reap(dead_.size() - 1);
        }
        open();
    }

    void reap(std::size_t at) {
        const session_key who = dead_[at];
        bool forgotten = false;
        const std::size_t portion = pick(6);
        both(0, [&](lock_engine& engine) {
            std::size_t budget = portion;
            forgotten = engine.reap(who, budget);
            return text_of(forgotten) + std::to_string(budget);
        });
        if (forgotten)
            dead_.erase(dead_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    static std::string expire(lock_engine& engine) {
        std::size_t budget = 3;
        return text_of(engine.expire(budget)) + std::to_string(budget);
    }

    // No two end at one time, since nobody says which of them goes first.
    std::chrono::milliseconds some_hold() {
        return std::chrono::seconds(1 + pick(3)) + std::chrono::milliseconds(++holds_ % 1'000);
    }

    // A request is for one lock, however often it is made.
    const std::string& name_of(session_key who, request_id id) {
        const auto& some = names_[pick(names_.size())];
        return named_.try_emplace({who, id}, some).first->second;
    }

    std::mt19937_64 random_;
    const std::vector<std::string> names_;
    memory_world memory_;
    sql_world sql_;
    std::vector<session_key> sessions_;
    std::vector<session_key> dead_;  // not forgotten yet
    std::map<std::pair<session_key, request_id>, std::string> named_;
    request_id last_id_ = 0;
    unsigned holds_ = 0;
    std::size_t longest_ = 0;
};

TEST(SqlRows, DoWhatRowsInMemoryDo) {
    std::size_t longest = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        run both(seed, seed % 2 == 0 ? 1 : 4);
        for (int i = 0; i < 500; ++i) {
            both.step();
            ASSERT_NO_FATAL_FAILURE(both.compare()) << "step " << i;
            ASSERT_FALSE(testing::Test::HasFailure()) << "step " << i;
        }
        longest = std::max(longest, both.longest());
    }
    EXPECT_GT(longest, 2 * store_detail::lock_window::size_max) << "more than is in sight at once";
}

}  // namespace
}  // namespace mortise::test::sql_rows_test
