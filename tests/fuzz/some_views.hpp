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

/// Views that a store may return: names and labels of any bytes, numbers at their limits.
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
        party_view view;
        view.session = {in_.number<std::uint8_t>(), in_.edge<std::uint64_t>()};
        view.host = in_.text(20);
        view.label = in_.text(40);
        view.pid = in_.edge<std::int64_t>();
        view.mode = mode();
        if (in_.flag())
            view.hold_max = std::chrono::milliseconds(in_.edge<std::int64_t>());
        view.slot = static_cast<std::uint32_t>(in_.pick(lock_mode::capacity_max + 1));
        view.token = {in_.edge<std::uint64_t>(), token_domain::parse("d")->of_slot(view.slot)};
        view.age = clock::duration(in_.edge<std::int64_t>());
        return view;
    }

    lock_view lock() {
        lock_view view;
        view.name = in_.text(60);
        view.holders = parties();
        view.waiters = parties();
        view.waiter_count = in_.flag() ? view.waiters.size() : in_.edge<std::uint64_t>();
        return view;
    }

    /// In the order of their names, each name once.
    std::vector<lock_view> locks() {
        std::vector<lock_view> views(in_.pick(4));
        std::generate(views.begin(), views.end(), [this] { return lock(); });
        const auto before = [](const lock_view& a, const lock_view& b) { return a.name < b.name; };
        std::sort(views.begin(), views.end(), before);
        const auto same = [](const lock_view& a, const lock_view& b) { return a.name == b.name; };
        views.erase(std::unique(views.begin(), views.end(), same), views.end());
        return views;
    }

    break_record record() {
        break_record result;
        using moment = std::chrono::system_clock::time_point;
        result.at = moment(moment::duration(in_.edge<std::int64_t>()));
        result.name = in_.text(20);
        result.token.value = in_.edge<std::uint64_t>();
        result.holder = in_.text(40);
        result.who = in_.text(40);
        result.why = in_.text(40);
        return result;
    }

private:
    std::vector<party_view> parties() {
        std::vector<party_view> views(in_.pick(3));
        std::generate(views.begin(), views.end(), [this] { return party(); });
        return views;
    }

    test::byte_source& in_;
};

}  // namespace mortise::fuzz

#endif
