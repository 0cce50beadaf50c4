// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_OWN_SESSION_HPP
#define MORTISE_STORE_SQLITE_OWN_SESSION_HPP

#include "core/lock_rows.hpp"
#include "mortise/store_types.hpp"
#include "store/sqlite/side_folder.hpp"
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

/// A session that is watched, or is to be: where its slot is, and which life of the slot is meant.
struct neighbour {
    std::size_t slot = 0;
    std::uint16_t incarnation = 0;
    std::uint64_t nonce = 0;
    core::session_key key = 0;

    friend bool operator==(const neighbour&, const neighbour&) noexcept = default;
};

/// What a look at all slots found.
struct slot_scan {
    slot_scan() = default;

    bool to_reap = false;  ///< Somebody, or a grant, has expired, or is dead and not buried.
    std::optional<clock::duration> next_deadline;  ///< Of the others that live, and their grants.
};

/// The session of this store object, as far as no database is needed for it: its heartbeat and whom
/// it watches. It keeps the files mapped that it needs.
///
/// @par Threads Any.
class own_session {
public:
    /// How many sessions each session watches, and is watched by.
    static constexpr std::size_t ring_width = 3;

    own_session(
        std::string path,
        slot_file_owner owner,
        std::shared_ptr<side_folder> folder,
        std::shared_ptr<slot_file> slots,
        const session_start& start,
        const neighbour& self,
        slot_word word
    );

    const session_id& id() const noexcept { return id_; }
    const neighbour& self() const noexcept { return self_; }
    core::session_key key() const noexcept { return self_.key; }
    side_folder& folder() const noexcept { return *folder_; }
    slot_file& slots() const noexcept { return *slots_; }

    /// Whether nobody has declared it dead.
    bool alive() const noexcept;

    /// Whether the store is still where it was.
    whereabouts where() const noexcept;

    /// Extends its life to `sent` + TTL. @return false if it was declared dead: for ever.
    bool extend(clock::time_point sent) noexcept;
    void set_ttl(std::chrono::milliseconds ttl) noexcept;

    /// Declares it dead: what it holds is free for whoever looks.
    void kill() noexcept;

    /// The grant of a request of this session, if the slot says that there is one.
    std::optional<noted_grant> find_grant(request_id id) const noexcept;

    slot_view view() const noexcept { return slots_->view(self_.slot); }
    slot_scan scan(clock::time_point now) const noexcept;

    /// The next sessions after this one that are not dead, in the order of the slots, round the
    /// end.
    std::vector<neighbour> successors() const;
    std::vector<neighbour> predecessors() const;

    /// Whether somebody is dead and still has what it had.
    bool unburied() const noexcept;

private:
    std::vector<neighbour> ring(bool forward) const;

    const std::string path_;
    const slot_file_owner owner_;
    const std::shared_ptr<side_folder> folder_;
    const std::shared_ptr<slot_file> slots_;
    const session_id id_;
    const neighbour self_;

    std::mutex mutex_;
    std::chrono::milliseconds ttl_;  // under the mutex
    slot_word word_;                 // under the mutex: what was written last
};

}  // namespace mortise::store_detail

#endif
