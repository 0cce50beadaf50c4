// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_GRANT_JUDGE_HPP
#define MORTISE_TESTS_CONFORMANCE_GRANT_JUDGE_HPP

#include "mortise/lock_mode.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// Decides from what the sessions have, and from nothing else, whether they may have it together.
class grant_judge {
public:
    using views_type = std::map<unsigned, session_view>;

    void know(unsigned session, request_id id, lock_mode mode) { modes_[{session, id}] = mode; }

    /// Returns what is wrong; empty: nothing.
    std::string objection(const views_type& views) {
        std::map<std::string, std::vector<holding>> held;
        for (const auto& [session, view] : views) {
            for (const auto& each : view.entries) {
                if (each.granted)
                    held[each.name].push_back({modes_.at({session, each.id}), each});
            }
        }
        for (const auto& [name, holders] : held) {
            if (const auto wrong = objection(name, holders); !wrong.empty())
                return name + wrong;
        }
        return {};
    }

private:
    struct holding {
        lock_mode mode;
        session_entry entry;
    };

    std::string objection(const std::string& name, const std::vector<holding>& holders) {
        const auto mode = holders.front().mode;
        const auto token = holders.front().entry.token;
        std::set<std::uint32_t> slots;
        for (const auto& [other, entry] : holders) {
            if (other != mode)
                return " is held in two modes";
            if (mode == lock_mode::shared() && entry.token != token)
                return " is shared by two tokens";
            if (mode.capacity() != 0 && (entry.slot < 1 || entry.slot > mode.capacity()))
                return " has no such slot";
            if (mode != lock_mode::shared() && !slots.insert(entry.slot).second)
                return " is held twice";
            auto& highest = highest_[{name, entry.slot}];
            if (entry.token.value < highest)
                return " has a token that has fallen";
            highest = entry.token.value;
        }
        return {};
    }

    std::map<std::pair<unsigned, request_id>, lock_mode> modes_;
    std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> highest_;
};

}  // namespace mortise::test

#endif
