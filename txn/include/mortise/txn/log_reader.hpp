// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_READER_HPP
#define MORTISE_TXN_LOG_READER_HPP

#include "mortise/txn/gid.hpp"
#include "mortise/txn/prepared_branch.hpp"
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

/// Reads the log of a coordinator, from any process, while the coordinator is at work and after its
/// death. Writes nothing to the log.
///
/// @par Errors    Members throw `error`: `not_a_log`, `newer_log`, and the code of SQLite.
/// @par Threads   One thread at a time. Members block, each for one short read.
class log_reader {
public:
    /// Opens the log. An empty database counts as an empty log: its coordinator has not made its
    /// tables yet.
    /// @throws error if the file is missing or cannot be read; `not_a_log`, `newer_log`.
    explicit log_reader(const std::filesystem::path& log);
    ~log_reader();
    log_reader(log_reader&&) noexcept;
    log_reader& operator=(log_reader&&) noexcept;

    /// The log's random id, which every `gid` of the log contains; zero if the log was empty when
    /// it was opened.
    std::uint64_t id() const noexcept { return id_; }

    /// Reads all that the log knows of a transaction; empty if it never existed or was forgotten.
    std::optional<transaction_view> show(const gid& gid) const;

    /// Lists the transactions with a number above `after`, in the order of their numbers, at most
    /// `limit`; without the actions of operators.
    std::vector<transaction_view>
    list(list_filter filter, std::uint64_t after, std::size_t limit) const;

    /// Tells how a transaction stands that `show` does not know: never existed, or forgotten.
    standing standing_of(const gid& gid) const;

    /// Tells how a branch stands that is prepared at a database. List the database first: a
    /// transaction is in the log before its branches are prepared.
    prepared_standing standing_of(const prepared_branch& branch) const;

private:
    std::unique_ptr<db::read_only> file_;
    std::uint64_t id_ = 0;
};

}  // namespace mortise::txn

#endif
