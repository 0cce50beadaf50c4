// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_SOME_VIEWS_HPP
#define MORTISE_TESTS_FUZZ_SOME_VIEWS_HPP

#include "mortise/options.hpp"
#include "mortise/store_types.hpp"
#include "support/byte_source.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::fuzz {

/// What a store may say of its locks: names and labels of any bytes, numbers at their limits.
class some_views {
public:
    explicit some_views(test::byte_source& in) : in_(in) {}

    lock_mode mode() {
        switch (in_.pick(3)) {
        case 0:
            return lock_mode::exclusive();
        case 1:
            return lock_mode::shared();
        default:
            return lock_mode::permits(1 + static_cast<std::uint32_t>(in_.pick(65'535)));
        }
    }

    party_view party() {
        party_view made;
        made.session = {in_.number<std::uint8_t>(), in_.edge<std::uint64_t>()};
        made.host = in_.text(20);
        made.label = in_.text(40);
        made.pid = in_.edge<std::int64_t>();
        made.mode = mode();
        if (in_.flag())
            made.hold_max = std::chrono::milliseconds(in_.edge<std::int64_t>());
        made.slot = static_cast<std::uint32_t>(in_.pick(lock_mode::capacity_max + 1));
        made.token = {in_.edge<std::uint64_t>(), token_domain::parse("d")->of_slot(made.slot)};
        made.age = clock::duration(in_.edge<std::int64_t>());
        return made;
    }

    lock_view lock() {
        lock_view made;
        made.name = in_.text(60);
        made.holders = parties();
        made.waiters = parties();
        made.waiter_count = in_.flag() ? made.waiters.size() : in_.edge<std::uint64_t>();
        return made;
    }

    /// In the order of their names, each name once.
    std::vector<lock_view> locks() {
        std::vector<lock_view> made(in_.pick(4));
        std::generate(made.begin(), made.end(), [this] { return lock(); });
        const auto before = [](const lock_view& a, const lock_view& b) { return a.name < b.name; };
        std::sort(made.begin(), made.end(), before);
        const auto same = [](const lock_view& a, const lock_view& b) { return a.name == b.name; };
        made.erase(std::unique(made.begin(), made.end(), same), made.end());
        return made;
    }

    break_record record() {
        break_record made;
        using moment = std::chrono::system_clock::time_point;
        made.at = moment(moment::duration(in_.edge<std::int64_t>()));
        made.name = in_.text(20);
        made.token.value = in_.edge<std::uint64_t>();
        made.holder = in_.text(40);
        made.who = in_.text(40);
        made.why = in_.text(40);
        return made;
    }

private:
    std::vector<party_view> parties() {
        std::vector<party_view> made(in_.pick(3));
        std::generate(made.begin(), made.end(), [this] { return party(); });
        return made;
    }

    test::byte_source& in_;
};

}  // namespace mortise::fuzz

#endif
