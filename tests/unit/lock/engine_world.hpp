// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_LOCK_ENGINE_WORLD_HPP
#define MORTISE_TESTS_UNIT_LOCK_ENGINE_WORLD_HPP

#include "core/lock_engine.hpp"
#include "store/memory/memory_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mortise::core::test {

/// The lock engine on rows in memory. After each transaction it checks what must always hold.
class engine_world {
public:
    engine_world() { rows.now = clock::time_point(std::chrono::hours(1)); }

    session_key open() {
        const session_key key = ++rows.last_key;
        rows.sessions[key].deadline = clock::time_point::max();
        return key;
    }

    /// Its time is over, and nobody has noticed yet.
    void expire(session_key session) { rows.sessions.at(session).deadline = rows.now; }

    void set_unreachable(session_key session, bool unreachable) {
        rows.sessions.at(session).unreachable = unreachable;
    }

    answer ask(session_key session, request_id id, std::string_view name, bool queue = true) {
        return ask_for(session, id, name, lock_mode::exclusive(), queue);
    }

    answer ask_for(
        session_key session,
        request_id id,
        std::string_view name,
        lock_mode mode,
        bool queue = true,
        std::chrono::milliseconds hold_max = std::chrono::milliseconds::max()
    ) {
        lock_request wish;
        wish.id = id;
        wish.name = name;
        wish.mode = mode;
        wish.hold_max = hold_max;
        wish.queue = queue;
        const auto reply =
            transact([&](lock_engine& engine) { return engine.request(session, wish); });
        refused = reply ? error_code() : reply.error();
        return reply ? *reply : answer();
    }

    bool withdraw(session_key session, request_id id) {
        const auto name = name_of(session, id);
        return transact([&](lock_engine& engine) { return engine.withdraw(session, name, id); });
    }

    bool release(session_key session, request_id id, std::uint64_t token, std::uint32_t slot = 0) {
        const auto name = name_of(session, id);
        return transact([&](lock_engine& engine) {
            return engine.release(session, {name, id, token, slot});
        });
    }

    /// With the token that the store has.
    bool release(session_key session, request_id id) {
        const auto entry = rows.find(session, id);
        return release(session, id, entry ? entry->token : 0, entry ? entry->slot : 0);
    }

    result<std::uint64_t> draw(
        session_key session,
        request_id id,
        std::uint64_t token,
        std::uint64_t bases,
        std::uint32_t slot = 0
    ) {
        const auto name = name_of(session, id);
        return transact([&](lock_engine& engine) {
            return engine.draw(session, {name, id, token, slot}, bases);
        });
    }

    std::size_t break_grants(std::string_view name, std::uint64_t token, std::uint32_t slot = 0) {
        return transact([&](lock_engine& engine) { return engine.break_grants(name, token, slot); }
        );
    }

    void expire_grants() {
        std::size_t budget = everything;
        EXPECT_TRUE(transact([&](lock_engine& engine) { return engine.expire(budget); }));
    }

    /// @return whether nothing is left of the session.
    bool reap(session_key session, std::size_t budget) {
        return transact([&](lock_engine& engine) { return engine.reap(session, budget); });
    }

    void end(session_key session) { EXPECT_TRUE(reap(session, everything)); }

    /// Several operations, one after the other, in one transaction.
    void together(const std::function<void(lock_engine&)>& operations) {
        transact([&](lock_engine& engine) { return operations(engine), true; });
    }

    void advance(std::string_view name) {
        transact([&](lock_engine& engine) { return engine.advance(name), true; });
    }

    std::optional<lock_entry> holder(std::string_view name) { return rows.next(name, true, 0); }

    std::uint64_t token(std::string_view name) {
        const auto entry = holder(name);
        return entry ? entry->token : 0;
    }

    /// The requests of that lock, "session.id" each, the holders first, in brackets and with their
    /// slots.
    std::string line(std::string_view name) {
        std::string text;
        const auto lock = rows.locks.find(name);
        if (lock == rows.locks.end())
            return text;
        for (const auto& [ordinal, entry] : lock->second.granted)
            text += "[" + text_of(entry) + slot_text(entry.slot) + "] ";
        for (const auto& [ordinal, entry] : lock->second.waiting)
            text += text_of(entry) + " ";
        text.pop_back();
        return text;
    }

    /// The messages of the last transaction, "kind session.id name", and "!" if the holder must
    /// learn that others wait.
    std::vector<std::string> notices() const {
        std::vector<std::string> all;
        for (const auto& each : effects) {
            const char* const kind = each.type == effect::kind::granted     ? "granted"
                                     : each.type == effect::kind::contended ? "contended"
                                                                            : "look_again";
            all.push_back(
                std::string(kind) + " " + std::to_string(each.to) + "." + std::to_string(each.id) +
                slot_text(each.slot) + " " + each.name +
                (each.contended && each.type == effect::kind::granted ? " !" : "")
            );
        }
        return all;
    }

    store_detail::memory_rows rows;
    std::vector<effect> effects;  ///< Of the last transaction.
    error_code refused;           ///< The error of the last request.

private:
    static constexpr std::size_t everything = 1'000'000;

    /// Of a request that is not there the name of some lock: nothing is found there, either.
    std::string name_of(session_key session, request_id id) {
        const auto entry = rows.find(session, id);
        return entry ? entry->name : "x";
    }

    static std::string text_of(const lock_entry& entry) {
        return std::to_string(entry.session) + "." + std::to_string(entry.id);
    }

    static std::string slot_text(std::uint32_t slot) {
        return slot == 0 ? std::string() : "#" + std::to_string(slot);
    }

    template <class Work>
    std::invoke_result_t<Work, lock_engine&> transact(Work work) {
        lock_engine engine(rows, rows.now);
        auto result = work(engine);
        effects = engine.take_effects();
        check_rows();
        check_tokens();
        return result;
    }

    void check_rows() {
        std::map<session_key, std::pair<std::uint64_t, std::uint64_t>> counted;
        std::size_t entries = 0;
        for (const auto& [name, lock] : rows.locks) {
            check_holders(name, lock.granted);
            EXPECT_FALSE(lock.granted.empty() && lock.waiting.empty());
            for (const auto* queue : {&lock.granted, &lock.waiting}) {
                for (const auto& [ordinal, entry] : *queue) {
                    ++entries;
                    EXPECT_EQ(entry.granted, queue == &lock.granted);
                    EXPECT_EQ(entry.granted, entry.token != 0);
                    EXPECT_TRUE(
                        rows.sessions.contains(entry.session) || rows.dead.contains(entry.session)
                    ) << "of a forgotten session";
                    auto& counts = counted[entry.session];
                    ++(entry.granted ? counts.first : counts.second);
                }
            }
        }
        EXPECT_EQ(entries, rows.places.size());
        for (const auto& [key, session] : rows.sessions) {
            EXPECT_EQ(session.grants, counted[key].first) << "grants of session " << key;
            EXPECT_EQ(session.requests, counted[key].second) << "requests of session " << key;
        }
    }

    // Checks that the holders of a lock may hold it together.
    static void
    check_holders(const std::string& name, const store_detail::memory_rows::queue& granted) {
        std::set<std::uint32_t> slots;
        std::set<std::uint64_t> tokens;
        for (const auto& [ordinal, entry] : granted) {
            EXPECT_EQ(entry.mode, granted.begin()->second.mode) << "mixed holders of " << name;
            EXPECT_LE(entry.slot, entry.mode.capacity());
            slots.insert(entry.slot);
            tokens.insert(entry.token);
        }
        if (granted.empty())
            return;
        switch (granted.begin()->second.mode.type()) {
        case lock_mode::kind::exclusive:
            EXPECT_EQ(granted.size(), 1u) << "two holders of " << name;
            break;
        case lock_mode::kind::shared:
            EXPECT_EQ(tokens.size(), 1u) << "two tokens in one shared phase of " << name;
            break;
        case lock_mode::kind::permits:
            EXPECT_EQ(slots.size(), granted.size()) << "two holders on one slot of " << name;
            EXPECT_FALSE(slots.contains(0));
            EXPECT_EQ(tokens.size(), granted.size());
            break;
        }
    }

    void check_tokens() {
        for (const auto& each : effects) {
            if (each.type != effect::kind::granted)
                continue;
            const auto entry = rows.find(each.to, each.id);
            ASSERT_TRUE(entry && entry->granted && entry->token == each.token)
                << "told of a grant that is not there: " << each.to << "." << each.id;
            // A session that joins a shared phase has its token, which nobody has had since.
            const bool joins = entry->mode.type() == lock_mode::kind::shared &&
                               shared_tokens_[each.name] == each.token;
            EXPECT_TRUE(joins || each.token > highest_token_)
                << "a token that is not above all before";
            highest_token_ = std::max(highest_token_, each.token);
            shared_tokens_[each.name] = each.token;
        }
    }

    std::uint64_t highest_token_ = 0;
    std::map<std::string, std::uint64_t> shared_tokens_;  // the last token of each lock
};

}  // namespace mortise::core::test

#endif
