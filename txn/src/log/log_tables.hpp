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

/// The right to decide: of one coordinator, in one partition, until another takes over.
struct term {
    std::uint64_t log = 0;  ///< The log's random id.
    std::uint32_t partition = 0;
    std::uint64_t epoch = 0;
    std::uint64_t id = 0;  ///< Random.
    std::uint64_t change = 0;
};

/// What a log is.
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
    std::uint64_t term = 0;  ///< In which it began.
    standing at = standing::open;
    bool ended = false;
    int why = 0;  ///< An `errc`, or zero.
    std::string text;
    std::string plan;
    std::string progress;
};

/// What became of a transaction, and why.
struct verdict {
    standing at = standing::never_existed;
    int why = 0;
    std::string text;
};

/// What came of a begin.
struct begun {
    std::uint64_t number = 0;
    bool joined = false;  ///< The key was used before: nothing was begun.
    verdict first;        ///< On that one.
    std::uint64_t change = 0;
};

/// Below which numbers all transactions have ended: of some participants, which have an open one,
/// and of any other.
struct ends_below {
    std::map<std::string, std::uint64_t, std::less<>> some;
    std::uint64_t others = 0;

    std::uint64_t of(std::string_view participant) const {
        const auto found = some.find(participant);
        return found == some.end() ? others : found->second;
    }
};

/// The statements of the log. Each runs in the transaction of its caller.
///
/// @par Errors Members throw `error` with the code of SQLite.
class log_tables {
public:
    /// Makes a log of that kind if there is none, checks the one that is there, and brings one of
    /// an older format up to date.
    /// @throws error `not_a_log`, `newer_log`, `log_corrupt`
    static log_facts prepare(db::connection& on, const log_facts& fresh);

    /// What is there; nothing in an empty database, where no coordinator has made its tables yet.
    /// @throws error `not_a_log`, `newer_log`, `log_corrupt`
    static std::optional<log_facts> look(db::connection& on);

    /// How many changes of that partition were forced to the disk.
    static std::uint64_t changes(db::connection& on, std::uint32_t partition);

    /// Makes the old copy of a log one that can be used: its numbers and epochs go on above those
    /// that were given since the copy was made.
    static void go_on_above(db::connection& on, std::uint64_t number);
    static void go_on_above(db::connection& on, std::uint32_t partition, std::uint64_t changes);

    /// Zero: nothing is there. @throws error as `look`
    static std::uint64_t log_id(db::connection& on);

    /// Whether that term is still the one which decides.
    static bool decides(db::connection& on, const term& by);

    /// The next term of that partition. An epoch that is a token must be higher than the one
    /// before, and of the same domain; without one it is one higher.
    /// @par Errors `foreign_epochs`, `stepped_down`
    static result<term> take_over(
        db::connection& on,
        std::uint64_t log,
        std::uint32_t partition,
        const std::optional<fencing_token>& epoch,
        std::uint64_t id
    );

    /// @par Errors `stepped_down`, `key_reused`
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

    /// That one, if it is known.
    static std::optional<logged> find(db::connection& on, std::uint64_t number);

    /// Looks at the first `limit` transactions that are open.
    static ends_below ends(db::connection& on, std::size_t limit);

    /// In the log that is there, if it is that of the gid.
    static verdict verdict_on(db::connection& on, const gid& which);

    /// Looks at `limit` transactions with a number above `after`, and forgets those that ended so
    /// long ago.
    struct purged {
        std::size_t forgotten = 0;
        std::uint64_t seen_to = 0;  ///< Where to go on; zero: at the beginning, later.
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
