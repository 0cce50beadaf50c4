// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_INBOX_INBOX_WORK_HPP
#define MORTISE_OUTBOX_SRC_INBOX_INBOX_WORK_HPP

#include "inbox/delivery.hpp"
#include "inbox/inbox_tables.hpp"
#include "inbox/trial.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/outbox/inbox.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace mortise::outbox::inbox_detail {

inline bool goes_by_offsets(inbox_config::kind by) noexcept {
    return by != inbox_config::kind::ids;
}
inline bool goes_by_ids(inbox_config::kind by) noexcept {
    return by != inbox_config::kind::offsets;
}

/// What came of a transaction.
class report {
public:
    report() = default;  // declared: no aggregate (docs/compilers.md, G3)

    inbox_stats counts;
    std::vector<inbox_event> events;
    bool held = false;  ///< Something is to be tried later.

    // Of a delivery.

    std::size_t reached = 0;  ///< All before it are dealt with.
    offsets next;
};

/// What an inbox does inside of its transactions.
///
/// @par Threads That of the session that writes.
class inbox_work {
public:
    inbox_work(const inbox_config& config, std::uint64_t seed);

    /// Deals with what is left of it, or with a part of that.
    report receive(db::connection& on, delivery& what);
    /// Tries what is due, or a part of that.
    report retry(db::connection& on, trial& tries);
    /// Makes the tables if they are not there. @return id of the tables and name
    std::string identity(db::connection& on) const;

    // Also on a thread that reads.

    std::optional<std::int64_t> next_due(db::connection& on) const;
    std::map<std::string, std::int64_t> positions(db::connection& on) const;

private:
    /// What may still be tried in a transaction: at least one message, however late it is.
    struct quota {
        std::size_t messages = 0;
        clock::time_point until;
    };
    /// How an attempt ended, if not well.
    struct failure {
        bool park = false;
        std::string why;
    };

    bool is_new(db::connection& on, const received& what, delivery& of, offsets& next);
    bool is_place_new(db::connection& on, const received& what, delivery& of, offsets& next);
    void take(db::connection& on, received& what, std::int64_t place, trial& tries, report& into);
    std::optional<failure> attempt(
        db::connection& on, const received& what, std::int64_t place, trial& tries, report& into
    );
    void number(received& what, std::uint32_t attempt) const;
    void retry_key(
        db::connection& on,
        const inbox_tables::held_row& first,
        std::int64_t now,
        quota& left,
        trial& tries,
        report& into
    );
    bool retry_one(
        db::connection& on,
        inbox_tables::held_row& which,
        std::int64_t now,
        trial& tries,
        report& into
    );
    answer ask(db::connection& on, const received& what, failure& failed);
    void refuse(db::connection& on, const received& what, answer& said);
    std::int64_t pause_after(std::uint32_t attempts);
    void judge(report& into, failure& failed, std::uint32_t attempts, const std::string& id);

    const inbox_config config_;
    const inbox_tables tables_;
    std::minstd_rand jitter_;
};

}  // namespace mortise::outbox::inbox_detail

#endif
