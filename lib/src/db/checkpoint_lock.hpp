// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_CHECKPOINT_LOCK_HPP
#define MORTISE_DB_CHECKPOINT_LOCK_HPP

#include "mortise/detail/unique_fd.hpp"

#include <filesystem>

namespace mortise::db::detail {

/// Lets one session of the host at a time copy the log back: a lock on a file beside the database.
/// Never on SQLite's own files: closing our descriptor of one would drop SQLite's locks on it.
class checkpoint_lock {
public:
    /// @throws error
    explicit checkpoint_lock(const std::filesystem::path& database);

    /// @return false if another session has it.
    bool try_lock() noexcept;
    void unlock() noexcept;

private:
    mortise::detail::unique_fd file_;
};

}  // namespace mortise::db::detail

#endif
