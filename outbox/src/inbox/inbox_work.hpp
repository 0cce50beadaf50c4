// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_INBOX_INBOX_WORK_HPP
#define MORTISE_OUTBOX_SRC_INBOX_INBOX_WORK_HPP

#include "inbox/inbox_tables.hpp"
#include "inbox/trial.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/outbox/inbox.hpp"
#include "mortise/outbox/received.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::outbox::inbox_detail {

/// For each source, the next offset.
using offsets = std::map<std::string, std::int64_t>;

/// Messages that were given to an inbox. One transaction handles them, unless they take long or a
/// handler spoils it.
///
/// @par Threads As for `trial`.
class delivery {
public:
    explicit delivery(std::vector<received> all) : messages(std::move(all)) {}

    bool is_done() const noexcept { return done == messages.size(); }
    /// Whether the stored offset of `source` is the one that this delivery last saw. If another
    /// deliverer moved it meanwhile, the remaining messages would be dropped as known.
    bool finds(const std::string& source, std::int64_t next) {
        return stands_.emplace(source, next).first->second == next;
    }
    void passed(std::size_t reached, const offsets& next) {
        done = reached;
        for (const auto& [source, offset] : next)
            stands_[source] = offset;
        tries.passed();
    }

    std::vector<received> messages;
    trial tries;
    std::size_t done = 0;  ///< How many messages are committed.

private:
    offsets stands_;
};

inline bool goes_by_offsets(inbox_config::kind by) noexcept {
    return by != inbox_config::kind::ids;
}
inline bool goes_by_ids(inbox_config::kind by) noexcept {
    return by != inbox_config::kind::offsets;
}

/// The result of a transaction.
class report {
public:
    report() = default;  // declared: no aggregate (docs/compilers.md, G3)

    inbox_stats counts;
    std::vector<inbox_event> events;
    bool held = false;  ///< A message must be tried later.

    // For a delivery:

    std::size_t reached = 0;  ///< All messages before it are handled or held.
    offsets next;
};

/// The work of an inbox inside its transactions.
///
/// @par Threads The session's thread that writes.
class inbox_work {
public:
    inbox_work(const inbox_config& config, std::uint64_t seed);

    /// Handles the rest of a delivery, or a part of that rest.
    report receive(db::connection& on, delivery& delivery);
    /// Retries due messages, or a part of them.
    report retry(db::connection& on, trial& tries);
    /// Creates the tables if they are missing. @return the id of the tables and the name.
    std::string identity(db::connection& on) const;

    // Also on a thread that reads:

    std::optional<std::int64_t> next_due(db::connection& on) const;
    std::map<std::string, std::int64_t> positions(db::connection& on) const;

private:
    /// What may still be tried in a transaction: at least one message, however late it is.
    struct quota {
        std::size_t messages = 0;
        clock::time_point until;
    };
    /// Why an attempt failed.
    struct failure {
        bool park = false;
        std::string why;
    };

    bool is_new(db::connection& on, const received& received, delivery& of, offsets& next);
    bool is_place_new(db::connection& on, const received& received, delivery& of, offsets& next);
    void
    take(db::connection& on, received& received, std::int64_t place, trial& tries, report& into);
    std::optional<failure> attempt(
        db::connection& on, const received& received, std::int64_t place, trial& tries, report& into
    );
    void number(received& received, std::uint32_t attempt) const;
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
        inbox_tables::held_row& held,
        std::int64_t now,
        trial& tries,
        report& into
    );
    answer ask(db::connection& on, const received& received, failure& failed);
    void refuse(db::connection& on, const received& received, answer& decision);
    std::int64_t pause_after(std::uint32_t attempts);
    void judge(report& into, failure& failed, std::uint32_t attempts, const std::string& id);

    const inbox_config config_;
    const inbox_tables tables_;
    coro::jitter jitter_;
};

}  // namespace mortise::outbox::inbox_detail

#endif
