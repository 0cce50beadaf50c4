// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_INBOX_CONFIG_HPP
#define MORTISE_OUTBOX_INBOX_CONFIG_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/answer.hpp"
#include "mortise/outbox/inbox_event.hpp"
#include "mortise/outbox/received.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace mortise::coro {
class time_source;
}

namespace mortise::outbox {

/// Deals with one message, in the transaction that remembers it as dealt with. What it throws is
/// undone, and tried again after a while.
///
/// It runs on the thread that writes to the database, and is not to take long. It may not leave a
/// foreign key open, nor begin or end transactions (`ROLLBACK`, `RAISE(ROLLBACK)`): that is a
/// failure as any other, though it may be that handlers of other messages are called again for it.
using inbox_handler = std::function<answer(db::connection& on, const received& what)>;

/// What an inbox does with the messages that come.
class inbox_config {
public:
    inbox_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// By which a message that comes a second time is known.
    enum class kind : std::uint8_t {
        /// The place in its source: no window, one row for each source. For sources with places
        /// that grow (Kafka, message files).
        offsets,
        /// Its id, remembered for `window`: for messages that come by several ways. One row for
        /// each message.
        ids,
        /// The place in its source, and its id besides, remembered for `window`: one that comes
        /// again at a new place (an operator said `rebase`, the cluster was rolled back, its sink
        /// keeps no marks) is passed over there. What came while it was not so is known by its
        /// place only.
        offsets_and_ids,
    };

    /// Whose inbox it is: several in one database do not know of each other. 1 to 255 bytes.
    std::string name = "inbox";

    kind by = kind::offsets;

    /// How long ids are remembered: a repetition that comes later is taken for a new message. One
    /// millisecond to a hundred years.
    std::chrono::milliseconds window{std::chrono::hours(24 * 7)};

    inbox_handler handler;

    /// How often a message is tried before it is parked: 1 to 1,000,000.
    std::uint32_t attempts_max = 10;

    /// The pause before the next attempt: drawn evenly up to a bound, which doubles from the first
    /// to the last of these; 1 ms to one day.
    std::chrono::milliseconds retry_first{100};
    std::chrono::milliseconds retry_max{60'000};

    /// Hears what happens, on the inbox's strand; must not throw or block.
    std::function<void(const inbox_event&)> observer;

    /// Where time comes from; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// Of the pauses; zero: a random one.
    std::uint64_t jitter_seed = 0;
};

}  // namespace mortise::outbox

#endif
