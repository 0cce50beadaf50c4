// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_LOG_TABLES_HPP
#define MORTISE_TXN_LOG_LOG_TABLES_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/gid.hpp"
#include "mortise/txn/outcome.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::txn::log {

/// The right to decide: of one coordinator, in one partition, until another takes over.
struct term {
    std::uint64_t log = 0;  ///< The log's random id.
    std::uint32_t partition = 0;
    std::uint64_t epoch = 0;
    std::uint64_t id = 0;  ///< Random.
};

/// A transaction as it stands in the log.
class logged {
public:
    logged() = default;

    std::uint64_t number = 0;
    std::uint64_t term = 0;  ///< In which it began.
    standing at = standing::open;
    bool ended = false;
    int why = 0;  ///< An `errc`, or zero.
    std::string text;
    std::string plan;
    std::string progress;
};

/// What came of a begin.
struct begun {
    std::uint64_t number = 0;
    bool joined = false;  ///< The key was used before: nothing was begun.
    standing at = standing::open;
    int why = 0;
};

/// The statements of the log. Each runs in the transaction of its caller.
///
/// @par Errors Members throw `error` with the code of SQLite.
class log_tables {
public:
    /// Makes the tables if they are not there, and checks them if they are.
    /// @return the random id of the log.
    /// @throws error `not_a_log`, `newer_log`
    static std::uint64_t prepare(db::connection& on, std::uint64_t new_id);

    static std::uint64_t log_id(db::connection& on);

    /// Whether that term is still the one which decides.
    static bool decides(db::connection& on, const term& by);

    /// The next term of that partition. With an epoch of locks' making that must be higher than the
    /// one before, and of the same domain; zero: one higher.
    static result<term> take_over(
        db::connection& on,
        std::uint64_t log,
        std::uint32_t partition,
        std::uint64_t epoch,
        std::string_view domain,
        std::uint64_t id
    );

    /// @par Errors `stepped_down`, `key_reused`
    static result<begun> begin(
        db::connection& on,
        const term& by,
        const std::optional<std::string>& key,
        std::string_view plan
    );

    /// Decides an open transaction. @par Errors `stepped_down`, `not_open`
    static error_code decide(
        db::connection& on,
        const term& by,
        std::uint64_t number,
        bool confirm,
        int why,
        std::string_view text
    );

    /// @par Errors `stepped_down`
    static error_code note_progress(
        db::connection& on,
        const term& by,
        std::uint64_t number,
        std::string_view progress,
        bool ended
    );

    /// Transactions of the partition that have not ended, after `after`, in the order of their
    /// numbers.
    static std::vector<logged>
    open_after(db::connection& on, std::uint32_t partition, std::uint64_t after, std::size_t limit);

    /// All transactions with a lower number have ended.
    static std::uint64_t ended_below(db::connection& on);

    static standing standing_of(db::connection& on, std::uint64_t number, int& why);

    /// Forgets what ended before that moment of the wall clock. @return how many.
    static std::size_t purge(db::connection& on, std::int64_t before_ms, std::size_t limit);
};

}  // namespace mortise::txn::log

#endif
