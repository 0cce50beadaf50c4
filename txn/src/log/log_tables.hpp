// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_LOG_TABLES_HPP
#define MORTISE_TXN_LOG_LOG_TABLES_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/txn/gid.hpp"
#include "mortise/txn/outcome.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::txn::log {

/// The right of one coordinator to decide in one partition, until another takes over.
struct term {
    std::uint64_t log = 0;  ///< The log's random id.
    std::uint32_t partition = 0;
    std::uint64_t epoch = 0;
    std::uint64_t id = 0;  ///< Random.
    std::uint64_t change = 0;
};

/// The fixed properties of a log.
struct log_facts {
    std::uint64_t id = 0;  ///< Random.
    std::uint32_t partitions = 0;
};

/// A transaction as it stands in the log.
class logged {
public:
    logged() = default;

    std::uint64_t number = 0;
    std::uint32_t partition = 0;
    std::uint64_t term = 0;  ///< The term in which it began.
    standing at = standing::open;
    bool ended = false;
    int why = 0;  ///< An `errc`, or zero.
    std::string text;
    std::string plan;
    std::string progress;
};

/// The decision on a transaction, and its reason.
struct verdict {
    standing at = standing::never_existed;
    int why = 0;
    std::string text;
};

/// The result of a begin.
struct begun {
    std::uint64_t number = 0;
    bool joined = false;  ///< The key was used before: nothing was begun.
    verdict first;        ///< The verdict on the earlier transaction with that key.
    std::uint64_t change = 0;
};

/// The numbers below which all transactions have ended: for some participants, those with an open
/// transaction, and for all others.
struct ends_below {
    std::map<std::string, std::uint64_t, std::less<>> some;
    std::uint64_t others = 0;

    std::uint64_t of(std::string_view participant) const {
        const auto found = some.find(participant);
        return found == some.end() ? others : found->second;
    }
};

/// A search for the ends, which reads the open transactions in portions. Nothing that begins
/// meanwhile makes it wrong.
struct ends_search {
    ends_below found;
    std::uint64_t after = 0;  ///< The last number that was read.
    std::size_t seen = 0;     ///< How many were read.
    bool complete = false;
};

/// The statements of the log. Each runs in the transaction of its caller.
///
/// @par Errors Members throw `error` with the code of SQLite.
class log_tables {
public:
    /// Creates the log `fresh` if there is none. Else checks the log, and upgrades an older format.
    /// @throws error `not_a_log`, `newer_log`, `log_corrupt`
    static log_facts prepare(db::connection& on, const log_facts& fresh);

    /// Reads the log's properties; empty if the database is empty: no coordinator has made tables.
    /// @throws error `not_a_log`, `newer_log`, `log_corrupt`
    static std::optional<log_facts> look(db::connection& on);

    /// Returns how many changes of the partition were forced.
    static std::uint64_t changes(db::connection& on, std::uint32_t partition);

    /// Makes an old copy usable: its numbers, or its epochs, continue above those that were given
    /// since the copy was made.
    static void go_on_above(db::connection& on, std::uint64_t number);
    static void go_on_above(db::connection& on, std::uint32_t partition, std::uint64_t changes);

    /// Returns the log's id; zero if the database is empty. @throws error as `look`
    static std::uint64_t log_id(db::connection& on);

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

    /// Begins a transaction. @par Errors `stepped_down`, `key_reused`
    static result<begun> begin(
        db::connection& on,
        const term& by,
        const std::optional<std::string>& key,
        std::string_view plan
    );

    /// Decides an open transaction. @return the number of the partition's change.
    /// @par Errors `stepped_down`, `not_open`
    static result<std::uint64_t> decide(
        db::connection& on,
        const term& by,
        std::uint64_t number,
        bool confirm,
        int why,
        std::string_view text
    );

    /// Writes the progress, and the end. @par Errors `stepped_down`
    static error_code note_progress(
        db::connection& on,
        const term& by,
        std::uint64_t number,
        std::string_view progress,
        bool ended
    );

    /// Lists the transactions of a partition that have not ended and have a number above `after`,
    /// in the order of their numbers.
    static std::vector<logged>
    open_after(db::connection& on, std::uint32_t partition, std::uint64_t after, std::size_t limit);

    /// Reads one transaction; empty if the log does not know it.
    static std::optional<logged> find(db::connection& on, std::uint64_t number);

    /// Reads the next `limit` open transactions for a search for the ends.
    static ends_search search_ends(db::connection& on, ends_search so_far, std::size_t limit);

    /// Reads the verdict, if the log is that of the gid.
    static verdict verdict_on(db::connection& on, const gid& gid);

    /// Checks `limit` transactions with a number above `after`, and forgets those that ended longer
    /// ago than `older_than`.
    struct purged {
        std::size_t forgotten = 0;
        std::uint64_t seen_to = 0;  ///< The `after` of the next portion; zero: start again later.
    };
    static purged purge(
        db::connection& on,
        std::chrono::milliseconds older_than,
        std::uint64_t after,
        std::size_t limit
    );
};

}  // namespace mortise::txn::log

#endif
