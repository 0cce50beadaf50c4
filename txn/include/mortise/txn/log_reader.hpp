// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_READER_HPP
#define MORTISE_TXN_LOG_READER_HPP

#include "mortise/txn/gid.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace mortise::db {
class read_only;
}

namespace mortise::txn {

/// Looks into the log of a coordinator, from any process: while the coordinator is at work, and
/// when it has died. Writes nothing to it.
///
/// @par Errors    Members throw `error`: `not_a_log`, `newer_log`, and the code of SQLite.
/// @par Threads   One at a time. Members block, each for one short read.
class log_reader {
public:
    /// An empty database is an empty log: its coordinator has not made its tables yet.
    /// @throws error if the file is not there or cannot be read; `not_a_log`, `newer_log`.
    explicit log_reader(const std::filesystem::path& log);
    ~log_reader();
    log_reader(log_reader&&) noexcept;
    log_reader& operator=(log_reader&&) noexcept;

    /// The log's random id, which is in every `gid` of it; zero if the log was empty when it was
    /// opened.
    std::uint64_t id() const noexcept { return id_; }

    /// What the log knows of a transaction; nothing if there is no such one any more.
    std::optional<transaction_view> show(const gid& which) const;

    /// The transactions with a number after `after`, in the order of their numbers, at most
    /// `limit`; without the actions of operators.
    std::vector<transaction_view>
    list(list_filter which, std::uint64_t after, std::size_t limit) const;

    /// What the log says of a transaction that `show` does not know.
    standing standing_of(const gid& which) const;

private:
    std::unique_ptr<db::read_only> file_;
    std::uint64_t id_ = 0;
};

}  // namespace mortise::txn

#endif
