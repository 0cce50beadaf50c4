// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MEMORY_ROWS_HPP
#define MORTISE_STORE_MEMORY_ROWS_HPP

#include "core/lock_rows.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

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
    void insert(const core::lock_entry& entry) override;
    void erase(const core::lock_entry& entry) override;
    void grant(const core::lock_entry& entry) override;
    std::optional<core::lock_entry> any_of(core::session_key session) override;
    core::presence presence_of(core::session_key session) override;
    void forget(core::session_key session) override;
    void changed(
        core::session_key session, std::int64_t grants, std::int64_t requests, bool by_other
    ) override;
    std::uint64_t draw_base() override;
    bool quarantined() override;

    using queue = std::map<std::uint64_t, core::lock_entry>;
    struct entries_of_lock {
        queue granted;
        queue waiting;
    };

    std::map<std::string, entries_of_lock, std::less<>> locks;
    std::map<std::pair<core::session_key, request_id>, std::pair<std::string, std::uint64_t>>
        places;
    std::map<core::session_key, memory_session> sessions;
    core::session_key last_key = 0;
    std::uint64_t last_base = 0;
    clock::time_point now;               ///< Set before each use of the engine.
    clock::time_point quarantine_until;  ///< Nothing is granted before.

private:
    queue* queue_of(std::string_view name, bool granted);
};

}  // namespace mortise::store_detail

#endif
