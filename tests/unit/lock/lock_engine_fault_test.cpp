// SPDX-License-Identifier: BSL-1.0
// Rows that fail in the middle of a transaction: the store rolls it back, but first it must end.
#include "core/lock_engine.hpp"
#include "store/memory/memory_rows.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::core::lock_engine_fault_test {
namespace {

using store_detail::memory_rows;

// From the n-th call on it answers "nothing there" and changes nothing.
class failing_rows final : public lock_rows {
public:
    failing_rows(memory_rows& rows, std::size_t calls, presence after)
        : rows_(rows), left_(calls), after_(after) {}

    std::optional<lock_entry>
    find(std::string_view name, session_key session, request_id id) override {
        return works() ? rows_.find(name, session, id) : std::nullopt;
    }
    std::optional<lock_entry>
    next(std::string_view name, bool granted, std::uint64_t after) override {
        return works() ? rows_.next(name, granted, after) : std::nullopt;
    }
    std::uint64_t last_ordinal(std::string_view name, bool granted) override {
        return works() ? rows_.last_ordinal(name, granted) : 0;
    }
    std::vector<lock_entry> holders(std::string_view name) override {
        return works() ? rows_.holders(name) : std::vector<lock_entry>();
    }
    std::uint64_t holder_count(std::string_view name) override {
        return works() ? rows_.holder_count(name) : 0;
    }
    bool others_wait(std::string_view name, session_key session) override {
        return works() && rows_.others_wait(name, session);
    }
    std::uint32_t capacity_of(std::string_view name) override {
        return works() ? rows_.capacity_of(name) : 0;
    }
    std::optional<lock_entry> next_ended(clock::time_point at) override {
        return works() ? rows_.next_ended(at) : std::nullopt;
    }
    void insert(const lock_entry& entry) override {
        if (works())
            rows_.insert(entry);
    }
    void erase(const lock_entry& entry) override {
        if (works())
            rows_.erase(entry);
    }
    void grant(const lock_entry& entry) override {
        if (works())
            rows_.grant(entry);
    }
    std::optional<lock_entry> any_of(session_key session) override {
        return works() ? rows_.any_of(session) : std::nullopt;
    }
    presence presence_of(session_key session) override {
        return works() ? rows_.presence_of(session) : after_;
    }
    void mark_dead(session_key session) override {
        if (works())
            rows_.mark_dead(session);
    }
    void forget(session_key session) override {
        if (works())
            rows_.forget(session);
    }
    void changed(session_key session, std::int64_t grants, std::int64_t requests, bool by_other)
        override {
        if (works())
            rows_.changed(session, grants, requests, by_other);
    }
    std::uint64_t draw_bases(std::uint64_t count) override {
        return works() ? rows_.draw_bases(count) : 0;
    }
    bool quarantined() override { return works() && rows_.quarantined(); }

    bool failed() const { return failed_; }
    std::size_t calls_after_failure() const { return calls_after_failure_; }

private:
    bool works() {
        if (failed_) {
            ++calls_after_failure_;
            return false;
        }
        failed_ = left_ == 0;
        left_ -= failed_ ? 0 : 1;
        return !failed_;
    }

    memory_rows& rows_;
    std::size_t left_;
    presence after_;
    bool failed_ = false;
    std::size_t calls_after_failure_ = 0;
};

// Session 1 lives and holds x; 2 is dead, holds y and waits for x; 3 lives and waits for both. All
// of them hold permits of p and share s; the permit of 1 has ended.
memory_rows crowded() {
    memory_rows rows;
    rows.now = clock::time_point(std::chrono::hours(1));
    for (session_key key = 1; key <= 3; ++key)
        rows.sessions[key].deadline = clock::time_point::max();
    request_id id = 0;
    for (session_key key = 1; key <= 3; ++key) {
        for (const char* name : {"x", "y"}) {
            lock_request wish;
            wish.id = ++id;
            wish.name = name;
            if (key == 1 && wish.name == "y")
                continue;
            lock_engine engine(rows, rows.now);
            engine.request(key, wish);
        }
    }
    id = 20;
    for (session_key key = 1; key <= 3; ++key) {
        for (const char* name : {"p", "s"}) {
            lock_request wish;
            wish.id = ++id;
            wish.name = name;
            wish.mode = wish.name == "p" ? lock_mode::permits(3) : lock_mode::shared();
            if (id == 21)
                wish.hold_max = std::chrono::milliseconds(1);
            lock_engine engine(rows, rows.now);
            engine.request(key, wish);
        }
    }
    rows.now += std::chrono::milliseconds(1);
    rows.sessions[2].deadline = rows.now;
    return rows;
}

void reap(lock_engine& engine, session_key session) {
    std::size_t budget = 100;
    engine.reap(session, budget);
}

const std::map<std::string, std::function<void(lock_engine&)>>& operations() {
    static const auto ask = [](session_key session,
                               const char* name,
                               bool queue,
                               lock_mode mode = lock_mode::exclusive()) {
        return [=](lock_engine& engine) {
            lock_request wish;
            wish.id = 77;
            wish.name = name;
            wish.mode = mode;
            wish.queue = queue;
            engine.request(session, wish);
        };
    };
    static const std::map<std::string, std::function<void(lock_engine&)>> all = {
        {"ask", ask(1, "y", true)},
        {"try", ask(1, "x", false)},
        {"ask for a free lock", ask(1, "z", true)},
        {"write among readers", ask(1, "s", true)},
        {"read among readers", ask(1, "s", true, lock_mode::shared())},
        {"ask for a permit", ask(1, "p", true, lock_mode::permits(3))},
        {"ask for another number of permits", ask(1, "p", true, lock_mode::permits(4))},
        {"draw",
         [](lock_engine& e) {
             (void)e.draw(1, {"x", 1, 1u << fencing_token::sequence_bits, 0}, 8);
         }},
        {"expire",
         [](lock_engine& e) {
             std::size_t budget = 100;
             e.expire(budget);
         }},
        {"withdraw the grant", [](lock_engine& e) { e.withdraw(1, "x", 1); }},
        {"withdraw a wish", [](lock_engine& e) { e.withdraw(3, "y", 6); }},
        {"release",
         [](lock_engine& e) {
             e.release(1, {"x", 1, 1u << fencing_token::sequence_bits, 0});
         }},
        {"break",
         [](lock_engine& e) { e.break_grants("y", 2u << fencing_token::sequence_bits, 0); }},
        {"end the holder", [](lock_engine& e) { reap(e, 1); }},
        {"end the dead", [](lock_engine& e) { reap(e, 2); }},
        {"advance", [](lock_engine& e) { e.advance("y"); }},
    };
    return all;
}

// A loop without an end would be stopped by the time limit of the test.
TEST(LockEngineFault, EndsWhereverTheRowsBeginToFail) {
    for (const auto& [name, operation] : operations()) {
        for (const presence after : {presence::gone, presence::unreachable, presence::alive}) {
            std::size_t failing_call = 0;
            for (bool failed = true; failed; ++failing_call) {
                memory_rows rows = crowded();
                failing_rows failing(rows, failing_call, after);
                lock_engine engine(failing, rows.now);
                operation(engine);
                failed = failing.failed();
                EXPECT_LE(failing.calls_after_failure(), 30u) << name << ", call " << failing_call;
                ASSERT_LT(failing_call, 1'000u) << name;
            }
            EXPECT_GT(failing_call, 2u) << name << " did not reach the rows";
        }
    }
}

TEST(LockEngineFault, GrantsNothingWithoutAToken) {
    for (std::size_t failing_call = 0; failing_call < 30; ++failing_call) {
        memory_rows rows = crowded();
        failing_rows failing(rows, failing_call, presence::alive);
        lock_engine engine(failing, rows.now);
        lock_request wish;
        wish.id = 77;
        wish.name = "z";
        const auto reply = engine.request(1, wish);
        EXPECT_EQ(reply->type == answer::kind::granted, reply->token.value != 0) << failing_call;
        for (const auto& each : engine.take_effects()) {
            EXPECT_EQ(each.type == effect::kind::granted, each.token != 0) << failing_call;
        }
    }
}

}  // namespace
}  // namespace mortise::core::lock_engine_fault_test
