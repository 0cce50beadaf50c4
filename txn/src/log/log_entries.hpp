// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_LOG_ENTRIES_HPP
#define MORTISE_TXN_LOG_LOG_ENTRIES_HPP

#include "log/log_terms.hpp"
#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/gid.hpp"
#include "mortise/txn/outcome.hpp"
#include "mortise/txn/prepared_branch.hpp"
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

/// How the begin of a transaction is written.
enum class begin_way : std::uint8_t {
    forced,     ///< It is durable before anybody is called.
    lazy,       ///< It may be lost in a power failure; its number never comes again.
    reserving,  ///< Forced, and reserves numbers for lazy ones.
};

/// The result of a begin.
struct begun {
    std::uint64_t number = 0;  ///< Zero: no number is reserved, and nothing was begun.
    bool joined = false;  ///< The key was used before: nothing was begun.
    verdict first;        ///< The verdict on the earlier transaction with that key.
    std::uint64_t change = 0;
    std::uint64_t reserved = 0;  ///< The last number that is reserved now, if some were.
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

/// The statements about the transactions of a log. Each runs in the transaction of its caller.
///
/// @par Errors Members throw `error` with the code of SQLite.
class log_entries {
public:
    /// Numbers continue above this one: for an old copy, above those that were given since it was
    /// made.
    static void go_on_above(db::connection& on, std::uint64_t number);
    /// Numbers continue above those that are reserved: a power failure may have lost transactions
    /// that had them. For whoever opens the log.
    static void go_on_above_reserved(db::connection& on);

    /// Begins a transaction. @par Errors `stepped_down`, `key_reused`
    /// @param key only of one that is forced
    static result<begun> begin(
        db::connection& on,
        const term& by,
        const std::optional<std::string>& key,
        std::string_view plan,
        begin_way how = begin_way::forced
    );

    /// Decides an open transaction.
    /// @param progress what its branches have come to already; empty: nothing
    /// @return the number of the partition's change. @par Errors `stepped_down`, `not_open`
    static result<std::uint64_t> decide(
        db::connection& on,
        const term& by,
        std::uint64_t number,
        bool confirm,
        int why,
        std::string_view text,
        std::string_view progress = {}
    );

    /// Notes how an open transaction was decided whose only branch knows that for itself. Nobody
    /// counts it: if the note is lost, the branch is asked. @par Errors as `decide`
    static error_code note_decision(
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

    /// Reads how a prepared branch stands. One of another term is none of the transaction that has
    /// its number.
    static prepared_standing standing_of(db::connection& on, const prepared_branch& branch);

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
