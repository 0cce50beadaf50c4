// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MEMORY_ROWS_HPP
#define MORTISE_STORE_MEMORY_ROWS_HPP

#include "core/lock_rows.hpp"

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

/// A session as the memory server has it.
struct memory_session {
    memory_session() = default;

    session_start start;
    clock::time_point deadline;
    std::uint64_t changes = 0;
    std::uint64_t grants = 0;
    std::uint64_t requests = 0;
    bool unreachable = false;
    /// Where its events go; called under the server's mutex, hands over and returns.
    std::function<void(const store_event&)> push;
};

/// The rows of the lock engine, in maps.
class memory_rows final : public core::lock_rows {
public:
    std::optional<core::lock_entry> find(core::session_key session, request_id id) override;
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
    std::optional<core::lock_entry> any_of(core::session_key session) override;
    core::presence presence_of(core::session_key session) override;
    void forget(core::session_key session) override;
    void changed(
        core::session_key session, std::int64_t grants, std::int64_t requests, bool by_other
    ) override;
    std::uint64_t draw_bases(std::uint64_t count) override;
    bool quarantined() override;

    /// When the first grant of another session ends by its `hold_max`; the end of time: none does.
    clock::time_point next_end(core::session_key but_of) const;

    using queue = std::map<std::uint64_t, core::lock_entry>;
    struct entries_of_lock {
        queue granted;
        queue waiting;
        std::size_t permits = 0;     ///< How many of all are for permits,
        std::uint32_t capacity = 0;  ///< and of how many permits.
    };

    std::map<std::string, entries_of_lock, std::less<>> locks;
    std::map<std::pair<core::session_key, request_id>, std::pair<std::string, std::uint64_t>>
        places;
    std::map<core::session_key, memory_session> sessions;
    /// The grants that end by themselves, by when they do.
    std::set<std::pair<clock::time_point, std::pair<core::session_key, request_id>>> ends;
    core::session_key last_key = 0;
    std::uint64_t changes = 0;  ///< Grows when a lock has changed.
    std::uint64_t last_base = 0;
    clock::time_point now;               ///< Set before each use of the engine.
    clock::time_point quarantine_until;  ///< Nothing is granted before.

private:
    queue* queue_of(std::string_view name, bool granted);
    void note_end(const core::lock_entry& entry);
};

}  // namespace mortise::store_detail

#endif
