// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_OWN_SESSION_HPP
#define MORTISE_STORE_SQLITE_OWN_SESSION_HPP

#include "core/lock_rows.hpp"
#include "core/session_rules.hpp"
#include "mortise/store_types.hpp"
#include "sqlite/side_folder.hpp"
#include "store/sqlite/slot_file.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// A session that is watched, or must be: its slot, and which life of the slot is meant.
struct neighbour {
    std::size_t slot = 0;
    std::uint16_t incarnation = 0;
    std::uint64_t nonce = 0;
    core::session_key key = 0;

    friend bool operator==(const neighbour&, const neighbour&) noexcept = default;
};

/// The findings of a look at all slots.
struct slot_scan {
    slot_scan() = default;

    bool to_reap = false;  ///< A session or grant has expired, or a dead session is not buried.
    std::optional<clock::duration> next_deadline;  ///< Of other live sessions and their grants.
};

/// The session of this store object, as far as it needs no database: its heartbeat, and the
/// sessions that it watches. Keeps the files that it needs mapped.
///
/// @par Threads Any.
class own_session {
public:
    /// How many sessions each session watches, and is watched by.
    static constexpr std::size_t neighbours_max = 3;

    own_session(
        std::string path,
        slot_file_owner owner,
        std::shared_ptr<sqlite_detail::side_folder> folder,
        std::shared_ptr<slot_file> slots,
        const session_start& start,
        const neighbour& self,
        slot_word word
    );

    const session_id& id() const noexcept { return id_; }
    const neighbour& self() const noexcept { return self_; }
    core::session_key key() const noexcept { return self_.key; }
    sqlite_detail::side_folder& folder() const noexcept { return *folder_; }
    slot_file& slots() const noexcept { return *slots_; }

    /// False once somebody has declared it dead.
    bool alive() const noexcept;

    /// The terms on which a connection acts for it. A session that is late lives until somebody
    /// declares it dead, and then never again.
    core::session_terms terms(std::uint64_t generation) const noexcept {
        return {generation, alive() ? clock::time_point::max() : clock::time_point::min()};
    }

    /// Whether the store is still where it was.
    sqlite_detail::whereabouts where() const noexcept;

    /// Extends its life to `sent` + TTL. @return false if it was declared dead, which is for ever.
    bool extend(clock::time_point sent) noexcept;
    void set_ttl(std::chrono::milliseconds ttl) noexcept;

    /// Declares it dead: whoever looks may free what it holds.
    void kill() noexcept;

    /// The grant of a request of this session, if the slot says that there is one.
    std::optional<noted_grant> find_grant(request_id id) const noexcept;

    slot_view view() const noexcept { return slots_->view(self_.slot); }
    slot_scan scan(clock::time_point now) const noexcept;

    /// The next sessions after this one that are not dead, in the order of the slots, which goes on
    /// at the first slot after the last.
    std::vector<neighbour> successors() const;
    std::vector<neighbour> predecessors() const;

    /// Whether some dead session still has what it had.
    bool unburied() const noexcept;

private:
    std::vector<neighbour> neighbours(bool forward) const;

    const std::string path_;
    const slot_file_owner owner_;
    const std::shared_ptr<sqlite_detail::side_folder> folder_;
    const std::shared_ptr<slot_file> slots_;
    const session_id id_;
    const neighbour self_;

    std::mutex mutex_;
    std::chrono::milliseconds ttl_;  // under the mutex
    slot_word word_;                 // under the mutex: what was written last
};

}  // namespace mortise::store_detail

#endif
