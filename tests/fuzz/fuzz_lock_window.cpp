// SPDX-License-Identifier: BSL-1.0
// What a window says of the first entries of a lock is what all of its rows say, or nothing.
#include "fuzz/target.hpp"
#include "store/sqlite/lock_window.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::fuzz::lock_window_target {
namespace {

using core::lock_entry;
using store_detail::lock_window;

bool same(const lock_entry& a, const lock_entry& b) {
    return a.granted == b.granted && a.ordinal == b.ordinal && a.session == b.session;
}

// All rows of one lock, in their order.
class plain_rows {
public:
    void insert(const lock_entry& entry) {
        const auto after = [](const lock_entry& a, const lock_entry& b) {
            return std::pair(!a.granted, a.ordinal) < std::pair(!b.granted, b.ordinal);
        };
        all.insert(std::lower_bound(all.begin(), all.end(), entry, after), entry);
    }

    void erase(const lock_entry& entry) {
        std::erase_if(all, [&](const lock_entry& each) { return same(each, entry); });
    }

    bool has(std::uint64_t ordinal) const {
        return std::any_of(all.begin(), all.end(), [ordinal](const lock_entry& each) {
            return each.ordinal == ordinal;
        });
    }

    std::optional<lock_entry> next(bool granted, std::uint64_t after) const {
        for (const lock_entry& each : all) {
            if (each.granted == granted && each.ordinal > after)
                return each;
        }
        return std::nullopt;
    }

    std::uint64_t last_ordinal(bool granted) const {
        std::uint64_t last = 0;
        for (const lock_entry& each : all)
            last = each.granted == granted ? each.ordinal : last;
        return last;
    }

    std::uint64_t holder_count() const {
        return static_cast<std::uint64_t>(
            std::count_if(all.begin(), all.end(), [](const lock_entry& e) { return e.granted; })
        );
    }

    std::optional<lock_entry> find(core::session_key session, request_id id) const {
        for (const lock_entry& each : all) {
            if (each.session == session && each.id == id)
                return each;
        }
        return std::nullopt;
    }

    bool others_wait(core::session_key session) const {
        return std::any_of(all.begin(), all.end(), [session](const lock_entry& each) {
            return !each.granted && each.session != session;
        });
    }

    std::uint32_t capacity() const {
        for (const lock_entry& each : all) {
            if (each.mode.capacity() != 0)
                return each.mode.capacity();
        }
        return 0;
    }

    std::vector<lock_entry> all;
};

class window_walk {
public:
    static constexpr std::size_t ordinals = 16;

    explicit window_walk(input in) : in_(in), capacity_(1 + in_.number<std::uint16_t>() % 3u) {
        const std::size_t count = in_.pick(ordinals);
        for (std::size_t i = 0; i < count; ++i) {
            if (const auto fresh = some_new())
                rows_.insert(*fresh);
        }
        const std::size_t seen = std::min(rows_.all.size(), lock_window::size_max);
        const auto end = rows_.all.begin() + static_cast<std::ptrdiff_t>(seen);
        window_.emplace("name", std::vector(rows_.all.begin(), end), seen == rows_.all.size());
    }

    bool used_up() const { return in_.used_up(); }

    void step() {
        switch (in_.pick(3)) {
        case 0:
            if (const auto fresh = some_new()) {
                rows_.insert(*fresh);
                window_->insert(*fresh);
            }
            break;
        case 1:
            if (const auto known = some_row()) {
                rows_.erase(*known);
                window_->erase(*known);
            }
            break;
        default:
            if (auto known = some_row(); known && !known->granted) {
                rows_.erase(*known);
                known->granted = true;
                rows_.insert(*known);
                window_->grant(*known);
            }
            break;
        }
        compare();
    }

    void compare() const {
        for (const bool granted : {true, false}) {
            for (std::uint64_t after = 0; after <= ordinals; ++after)
                compare_next(granted, after);
            const auto last = window_->last_ordinal(granted);
            MORTISE_ASSERT(!last || *last == rows_.last_ordinal(granted));
        }
        const auto count = window_->holder_count();
        MORTISE_ASSERT(!count || *count == rows_.holder_count());
        const auto holders = window_->holders();
        MORTISE_ASSERT(
            !holders || std::equal(
                            holders->begin(),
                            holders->end(),
                            rows_.all.begin(),
                            rows_.all.begin() + std::ptrdiff_t(rows_.holder_count()),
                            same
                        )
        );
        for (core::session_key session = 0; session < 5; ++session) {
            for (request_id id = 0; id <= ordinals; ++id)
                compare_find(session, id);
            const auto wait = window_->others_wait(session);
            MORTISE_ASSERT(!wait || *wait == rows_.others_wait(session));
        }
        const auto capacity = window_->capacity();
        MORTISE_ASSERT(!capacity || *capacity == rows_.capacity());
    }

private:
    void compare_find(core::session_key session, request_id id) const {
        const auto actual = window_->find(session, id);
        if (!actual)
            return;
        const auto expected = rows_.find(session, id);
        MORTISE_ASSERT(actual->has_value() == expected.has_value());
        MORTISE_ASSERT(!expected || same(**actual, *expected));
    }

    void compare_next(bool granted, std::uint64_t after) const {
        const auto actual = window_->next(granted, after);
        if (!actual)
            return;
        const auto expected = rows_.next(granted, after);
        MORTISE_ASSERT(actual->has_value() == expected.has_value());
        MORTISE_ASSERT(!expected || same(**actual, *expected));
    }

    // An ordinal is nobody else's: the engine gives each newcomer one above all.
    std::optional<lock_entry> some_new() {
        lock_entry entry;
        entry.name = "name";
        entry.ordinal = 1 + in_.pick(ordinals);
        entry.id = entry.ordinal;
        entry.granted = in_.flag();
        entry.session = 1 + in_.pick(4);
        if (in_.flag())
            entry.mode = lock_mode::permits(capacity_);
        return rows_.has(entry.ordinal) ? std::nullopt : std::optional(entry);
    }

    std::optional<lock_entry> some_row() {
        if (rows_.all.empty())
            return std::nullopt;
        return rows_.all[in_.pick(rows_.all.size())];
    }

    input in_;
    std::uint32_t capacity_;
    plain_rows rows_;
    std::optional<lock_window> window_;
};

}  // namespace

MORTISE_FUZZ_TARGET(lock_window) {
    constexpr int steps_max = 40;
    window_walk walk(in);
    walk.compare();
    for (int i = 0; i < steps_max && !walk.used_up(); ++i)
        walk.step();
}

}  // namespace mortise::fuzz::lock_window_target
