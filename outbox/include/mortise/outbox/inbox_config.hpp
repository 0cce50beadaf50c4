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

/// Handles one message, in the transaction that also records it as handled. If it throws, what it
/// wrote is undone, and it is called again later.
///
/// It runs on the thread that writes to the database, so it must be quick. It must not leave a
/// foreign key open, nor begin or end transactions (`ROLLBACK`, `RAISE(ROLLBACK)`). Doing so counts
/// as a failure, and may make the inbox call the handler again for other messages.
using inbox_handler = std::function<answer(db::connection& on, const received& received)>;

/// Configuration of an inbox.
class inbox_config {
public:
    inbox_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// How an inbox recognises a message that comes a second time.
    enum class kind : std::uint8_t {
        /// By its place in its source: no window, one row for each source. For sources with growing
        /// places (Kafka, message files).
        offsets,
        /// By its id, remembered for `window`: for messages that come by several ways. One row for
        /// each message.
        ids,
        /// By its place in its source and by its id, remembered for `window`. This also recognises
        /// a message that comes again at a new place: after a `rebase`, after the cluster was
        /// rolled back, or from a relay whose sink keeps no marks. A message that came while the
        /// inbox had another setting is recognised by its place only.
        offsets_and_ids,
    };

    /// The name of the inbox, 1 to 255 bytes. Inboxes in one database do not know of each other.
    std::string name = "inbox";

    kind by = kind::offsets;

    /// How long ids are remembered; a repetition that comes later counts as a new message. One
    /// millisecond to a hundred years.
    std::chrono::milliseconds window{std::chrono::hours(24 * 7)};

    inbox_handler handler;

    /// How often a message is tried before it is parked: 1 to 1,000,000.
    std::uint32_t attempts_max = 10;

    /// The pause before the next attempt: drawn evenly below a bound, which doubles from
    /// `retry_first` up to `retry_max`; 1 ms to one day each.
    std::chrono::milliseconds retry_first{100};
    std::chrono::milliseconds retry_max{60'000};

    /// How often the inbox looks for messages to try again, 1 ms to one day, of real time. This
    /// finds what an inbox of the same name in another process held before it died, and changes of
    /// operators that nobody rang for. A look is one short read.
    std::chrono::milliseconds look_every{1'000};

    /// Called for each event, on the inbox's strand; must not throw or block.
    std::function<void(const inbox_event&)> observer;

    /// The source of time; null: the real time.
    std::shared_ptr<coro::time_source> time;

    /// The seed for drawing the pauses; zero: a random one.
    std::uint64_t jitter_seed = 0;
};

}  // namespace mortise::outbox

#endif
