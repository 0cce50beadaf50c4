// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MEMORY_MEMORY_ROWS_HPP
#define MORTISE_STORE_MEMORY_MEMORY_ROWS_HPP

#include "core/lock_rows.hpp"
#include "core/session_rules.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// A session as the memory server keeps it.
struct memory_session {
    memory_session() = default;

    session_start start;
    clock::time_point deadline;
    std::uint64_t changes = 0;
    std::uint64_t grants = 0;
    std::uint64_t requests = 0;
    bool unreachable = false;
    /// Hands an event to the client of the session. Called under the server's mutex, so it must
    /// return at once.
    std::function<void(const store_event&)> push;
};

/// The rows of the lock engine, in maps.
class memory_rows final : public core::lock_rows {
public:
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

    /// The session is proved to live: its TTL begins now.
    void prove(core::session_key session);

    /// The longest TTL of those who may still believe in a lease, also of sessions that have ended.
    std::chrono::milliseconds longest_ttl() const;

    /// Drops all locks and sessions; `believed` and what counts upwards stay.
    void clear();

    /// The entry of that request, whatever its lock.
    std::optional<core::lock_entry> find(core::session_key session, request_id id);

    /// Nothing if the session is dead.
    std::optional<core::session_terms> terms_of(core::session_key session) const;

    /// When the first grant of a session other than `but_of` ends by its `hold_max`; the maximum if
    /// none of them does.
    clock::time_point next_end(core::session_key but_of) const;

    using queue = std::map<std::uint64_t, core::lock_entry>;
    struct entries_of_lock {
        queue granted;
        queue waiting;
        std::size_t permits = 0;     ///< How many entries ask for permits, granted or not.
        std::uint32_t capacity = 0;  ///< The number of permits that those entries agree on.
    };

    std::map<std::string, entries_of_lock, std::less<>> locks;
    std::map<std::pair<core::session_key, request_id>, std::pair<std::string, std::uint64_t>>
        places;
    std::map<core::session_key, memory_session> sessions;
    /// Dead sessions, of which entries may be left.
    std::set<core::session_key> dead;
    /// Until when leases of a TTL may be believed in. They outlive the memory of a server that
    /// forgets the rest.
    std::map<std::chrono::milliseconds, clock::time_point> believed;
    /// The grants that end by their `hold_max`, ordered by the time at which they end.
    std::set<std::pair<clock::time_point, std::pair<core::session_key, request_id>>> ends;
    core::session_key last_key = 0;
    std::uint64_t changes = 0;  ///< Grows with each change of a lock.
    std::uint64_t last_base = 0;
    clock::time_point now;               ///< Set before each use of the engine.
    clock::time_point quarantine_until;  ///< The store grants nothing before this time.

private:
    queue* queue_of(std::string_view name, bool granted);
    void note_end(const core::lock_entry& entry);
};

}  // namespace mortise::store_detail

#endif
