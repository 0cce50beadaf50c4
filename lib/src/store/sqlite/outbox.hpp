// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_OUTBOX_HPP
#define MORTISE_STORE_SQLITE_OUTBOX_HPP

#include "mortise/detail/unique_fd.hpp"
#include "store/sqlite/hint.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mortise::sqlite_detail {
class side_folder;
}

namespace mortise::store_detail {

/// Sends hints to the inboxes of other sessions.
///
/// It stays connected to the inboxes that it wrote to last, because looking up the name of a socket
/// takes longer than sending. Besides, what one receiver has not read yet takes nothing from what
/// others may have under way.
class outbox {
public:
    static constexpr std::size_t connections_max = 32;

    /// @throws error
    explicit outbox(const sqlite_detail::side_folder& folder);

    /// Sends without waiting. A hint that cannot be sent is lost: its receiver finds out by a
    /// heartbeat.
    /// @return false if the receiver's queue was full.
    bool
    send(const sqlite_detail::side_folder& folder, std::uint64_t nonce, const hint& hint) noexcept;

private:
    struct connection {
        std::uint64_t nonce = 0;
        detail::unique_fd socket;
    };

    int connected(const sqlite_detail::side_folder& folder, std::uint64_t nonce) noexcept;

    detail::unique_fd spare_;              // for when there are no descriptors left
    std::vector<connection> connections_;  // the one that was used last stands last
};

}  // namespace mortise::store_detail

#endif
