// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SQL_ROWS_HPP
#define MORTISE_STORE_SQLITE_SQL_ROWS_HPP

#include "core/lock_rows.hpp"
#include "store/sqlite/lock_window.hpp"
#include "store/sqlite/session_index.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::sqlite_detail {
class sqlite_db;
}

namespace mortise::store_detail {

class slot_file;

/// What a forgotten session leaves to be cleaned up after the commit.
struct buried_session {
    core::session_key key = 0;
    std::size_t slot = 0;
    std::uint64_t nonce = 0;
    bool has_slot = false;
};

/// The rows of one write transaction, under the lock of the folder.
///
/// What the slots must say (counts, change numbers) is collected and written by `publish`, just
/// before the commit: whoever sees a new change number looks under the lock and finds the commit
/// done, or undone.
class sql_rows final : public core::lock_rows {
public:
    /// `actor` is the session that acts: it lives as long as its slot is not dead.
    sql_rows(
        sqlite_detail::sqlite_db& db,
        slot_file& slots,
        session_index& index,
        core::session_key actor,
        clock::time_point now
    ) noexcept
        : db_(db), slots_(slots), index_(index), actor_(actor), now_(now) {}

    std::optional<core::lock_entry>
    find(std::string_view name, core::session_key session, request_id id) override;
    std::optional<core::lock_entry>
    next(std::string_view name, bool granted, std::uint64_t after) override;
    std::uint64_t last_ordinal(std::string_view name, bool granted) override;
    std::vector<core::lock_entry> holders(std::string_view name) override;
    std::uint64_t holder_count(std::string_view name) override;
    bool others_wait(std::string_view name, core::session_key session) override;
    std::uint32_t capacity_of(std::string_view name) override;
    std::optional<core::lock_entry> next_ended(clock::time_point at) override;
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

    /// Looks anew when the first grant of that session ends, even if none was given or taken.
    void refresh_ends(core::session_key session) { note_ends(session); }

    /// Writes what was collected. Called once, before the commit.
    void publish();
    /// Writes what must not be seen before it is true. Called once, after the commit.
    void settle() noexcept;
    /// Takes back what `publish` wrote to the slots, except the change numbers, because the commit
    /// failed.
    void retract() noexcept;

    /// Notes a slot that no session owns, to be made free after the commit.
    void bury_slot(const buried_session& left) { buried_.push_back(left); }
    const std::vector<buried_session>& buried() const noexcept { return buried_; }
    /// Whether a token was wanted and none is reserved: then reserve more, and do the transaction
    /// again.
    bool tokens_used_up() const noexcept { return tokens_used_up_; }
    /// Whether any lock has changed.
    bool changed_locks() const noexcept { return changed_locks_; }

private:
    struct change {
        core::session_key session = 0;
        std::int64_t grants = 0;
        std::int64_t requests = 0;
        std::uint64_t by_others = 0;
    };
    struct published {
        std::size_t slot = 0;
        change counts;
    };
    /// When the first grant of a session ends; kept for sessions that got or lost a grant with an
    /// end.
    struct ends_of {
        core::session_key session = 0;
        std::size_t slot = 0;
        bool has_slot = false;
        clock::time_point first;
    };
    lock_window& window(std::string_view name);
    lock_window* open_window(std::string_view name) noexcept;
    bool load_meta();
    void note_ends(core::session_key session);
    void publish_ends();

    sqlite_detail::sqlite_db& db_;
    slot_file& slots_;
    session_index& index_;
    core::session_key actor_;
    clock::time_point now_;
    std::vector<lock_window> windows_;  // of the locks that were looked at last
    std::vector<change> changes_;
    std::vector<std::pair<core::session_key, request_id>> taken_;  // grants that were erased
    std::vector<published> published_;
    std::vector<ends_of> ends_;
    std::vector<buried_session> buried_;
    bool changed_locks_ = false;
    bool meta_loaded_ = false;
    bool drew_ = false;
    bool tokens_used_up_ = false;
    std::uint64_t token_next_ = 0;
    std::uint64_t token_mark_ = 0;
    clock::time_point quarantine_until_;
};

}  // namespace mortise::store_detail

#endif
