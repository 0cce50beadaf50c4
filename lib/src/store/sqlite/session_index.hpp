// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SESSION_INDEX_HPP
#define MORTISE_STORE_SQLITE_SESSION_INDEX_HPP

#include "core/lock_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace mortise::sqlite_detail {
class sqlite_db;
}

namespace mortise::store_detail {

class slot_file;

/// Finds the slot of a session. It remembers what it found, and checks that at each use, since a
/// slot says whose it is.
class session_index {
public:
    struct place {
        std::size_t slot = 0;
        std::uint64_t nonce = 0;
    };

    /// Nothing if no slot belongs to that session (it is dead), or if the connection failed.
    std::optional<place>
    find(sqlite_detail::sqlite_db& db, const slot_file& slots, core::session_key session);

    void clear() noexcept { known_.clear(); }

private:
    static constexpr std::size_t known_max = 8192;

    std::unordered_map<core::session_key, std::size_t> known_;
};

}  // namespace mortise::store_detail

#endif
