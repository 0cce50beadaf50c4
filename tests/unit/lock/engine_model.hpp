// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_LOCK_ENGINE_MODEL_HPP
#define MORTISE_TESTS_UNIT_LOCK_ENGINE_MODEL_HPP

#include "core/lock_rows.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mortise::core::test {

/// A model of the lock engine that is too simple to be wrong: a line for each lock, in the order of
/// the wishes. It removes a lapsed entry at once, where the engine finds it in time.
class engine_model {
public:
    struct wish {
        session_key session = 0;
        request_id id = 0;
        lock_mode mode;
        std::chrono::milliseconds hold_max = std::chrono::milliseconds::max();
        bool granted = false;
        std::uint32_t slot = 0;
        clock::time_point ends = clock::time_point::max();
    };
    using line_type = std::vector<wish>;

    explicit engine_model(clock::time_point now) : now_(now) {}

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
        const wish added = line.back();
        notices_ = added.granted ? std::multiset<std::string>() : notices_of(line);
        if (!added.granted && !queue)
            line.pop_back();
        return added;
    }

    // The holders that the last wish contended with, as "session.id"; empty if it was granted.
    const std::multiset<std::string>& notices() const { return notices_; }

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

    void pass(std::chrono::milliseconds span) {
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
    static std::multiset<std::string> notices_of(const line_type& line) {
        std::multiset<std::string> informed;
        for (const wish& holder : line) {
            if (!holder.granted || holder.session == line.back().session)
                continue;
            const bool knows = std::any_of(line.begin(), line.end() - 1, [&](const wish& each) {
                return !each.granted && each.session != holder.session;
            });
            if (!knows)
                informed.insert(text_of(holder));
        }
        return informed;
    }

    static bool admits(const line_type& line, lock_mode mode) {
        std::size_t holders = 0;
        for (const wish& each : line) {
            if (!each.granted)
                continue;
            ++holders;
            if (each.mode != mode || mode.type() == lock_mode::kind::exclusive)
                return false;
        }
        return mode.type() != lock_mode::kind::permits || holders < mode.capacity();
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
            each.slot = each.mode.type() == lock_mode::kind::permits ? free_slot(line) : 0;
            each.granted = true;
            if (each.hold_max != std::chrono::milliseconds::max())
                each.ends = now_ + each.hold_max;
        }
    }

    void advance_all() {
        for (const auto& [name, line] : lines_)
            advance(name);
    }

    template <class Predicate>
    void remove_if(Predicate predicate) {
        for (auto& [name, line] : lines_) {
            std::erase_if(line, predicate);
            advance(name);
        }
    }

    std::map<std::string, line_type> lines_;
    std::set<session_key> unreachable_;
    std::multiset<std::string> notices_;
    clock::time_point now_;
    bool quarantined_ = false;
};

}  // namespace mortise::core::test

#endif
