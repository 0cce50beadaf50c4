// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_LOG_TERMS_HPP
#define MORTISE_TXN_LOG_LOG_TERMS_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"

#include <cstdint>
#include <optional>

namespace mortise::txn::log {

/// The right of one coordinator to decide in one partition, until another takes over.
struct term {
    std::uint64_t log = 0;  ///< The log's random id.
    std::uint32_t partition = 0;
    std::uint64_t epoch = 0;
    std::uint64_t id = 0;  ///< Random.
    std::uint64_t change = 0;
};

/// The statements about the partitions of a log: their terms, and their counts of changes. Each
/// runs in the transaction of its caller.
///
/// @par Errors Members throw `error` with the code of SQLite.
class log_terms {
public:
    /// Whether the term still has the right to decide.
    static bool decides(db::connection& on, const term& by);

    /// Begins the next term of a partition. If the epoch is a token, it must be higher than the
    /// last one and of the same domain. Without a token the epoch grows by one.
    /// @par Errors `foreign_epochs`, `stepped_down`
    static result<term> take_over(
        db::connection& on,
        std::uint64_t log,
        std::uint32_t partition,
        const std::optional<fencing_token>& epoch,
        std::uint64_t id
    );

    /// Returns how many changes of the partition were forced.
    static std::uint64_t changes(db::connection& on, std::uint32_t partition);

    /// Counts a change that somebody hears of: a log with a lower count than its mark is an old
    /// copy. @return the new count.
    static std::uint64_t count_change(db::connection& on, std::uint32_t partition);

    /// Makes an old copy usable: the changes, and the epochs of the partition, continue above those
    /// that were given since the copy was made.
    static void go_on_above(db::connection& on, std::uint32_t partition, std::uint64_t changes);
};

}  // namespace mortise::txn::log

#endif
