// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQL_LOADED_ROWS_HPP
#define MORTISE_STORE_SQL_LOADED_ROWS_HPP

#include "core/lock_engine.hpp"
#include "core/lock_rows.hpp"
#include "store/sql/sql_gateway.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

/// One lock that was loaded, for one run of the lock engine, and the changes of that run.
///
/// Source files: loaded_rows.cpp; lock_views.cpp (views for people).
class loaded_rows final : public core::lock_rows {
public:
    explicit loaded_rows(const sql_lock& loaded);

    std::optional<core::lock_entry>
    next(std::string_view name, bool granted, std::uint64_t after) override;
    std::uint64_t last_ordinal(std::string_view name, bool granted) override;
    std::optional<core::lock_entry> next_ended(clock::time_point now) override;
    void insert(const core::lock_entry& entry) override;
    void erase(const core::lock_entry& entry) override;
    void grant(const core::lock_entry& entry) override;
    void set_hold_max(const core::lock_entry& granted, std::chrono::milliseconds hold_max) override;
    core::presence presence_of(core::session_key session) override;
    void mark_dead(core::session_key session) override;
    std::optional<core::lock_entry> any_of(core::session_key session) override;
    void forget(core::session_key session) override;
    void changed(
        core::session_key session, std::int64_t grants, std::int64_t requests, bool unanswered
    ) override;
    std::uint64_t draw_bases(std::uint64_t count) override;
    bool quarantined() override;

    using queue = std::map<std::uint64_t, core::lock_entry>;

    const sql_lock& loaded() const noexcept { return loaded_; }
    const queue& granted() const noexcept { return granted_; }
    const queue& waiting() const noexcept { return waiting_; }

    /// The session of an entry; null if it has no row.
    const sql_party* party_of(core::session_key session) const;
    /// Whether a look shows the entry: neither one of the dead nor a grant that has ended.
    bool shows(const core::lock_entry& entry);

    /// The record that goes with the change.
    void note_break(break_record record) { record_ = std::move(record); }

    /// Sessions that the engine found dead, and that must be marked before the change is written.
    const std::set<core::session_key>& unmarked() const noexcept { return unmarked_; }

    /// Whether the engine changed anything that is stored.
    bool any_change() const noexcept;

    /// The lock as it is now. `answered` is the request of the actor that is told by the answer,
    /// and needs no push.
    sql_lock_change take_change(
        sql_actor actor, request_id answered, sql_stamp stamp, std::vector<core::effect> effects
    ) const;

private:
    queue& entries(bool granted) noexcept { return granted ? granted_ : waiting_; }
    std::optional<core::lock_entry> plain_holder() const;
    std::vector<core::lock_entry> fold(sql_lock_row& row) const;
    bool is_plain(std::uint64_t base) const;

    const sql_lock& loaded_;
    queue granted_;
    queue waiting_;
    std::map<core::session_key, const sql_party*> parties_;
    std::uint64_t last_;
    std::uint64_t base_;
    std::map<core::session_key, std::uint64_t> changes_;
    std::set<core::session_key> unmarked_;
    std::optional<break_record> record_;
    bool rewritten_ = false;  ///< Something changed that nobody watches for.
    bool visible_ = false;
};

/// A loaded lock for people, with at most `queue_max` waiters; nothing if nobody alive holds it or
/// waits.
std::optional<lock_view> view_of(const sql_lock& loaded, std::size_t queue_max);

/// The first holders that have this token and slot, for the record of a break.
std::vector<party_view> holders_of(loaded_rows& rows, std::uint64_t token, std::uint32_t slot);

}  // namespace mortise::store_detail

#endif
