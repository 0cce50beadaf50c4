// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SINK_HPP
#define MORTISE_OUTBOX_SINK_HPP

#include "mortise/error.hpp"
#include "mortise/outbox/mark.hpp"
#include "mortise/outbox/message.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mortise::outbox {

namespace asio = boost::asio;

/// A message that is being sent, with the number of its row.
class outgoing {
public:
    outgoing() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::int64_t row = 0;
    outbox::message message;
    std::chrono::system_clock::time_point written;  ///< When it was appended.
};

/// Names the shard that a sink serves.
class shard_name {
public:
    shard_name() = default;

    std::string table;         ///< The random id of the message table.
    std::uint32_t shard = 0;   ///< Never reused for other rows, even after a `reshard`.
    std::string first_sought;  ///< The `place` of the last acknowledged mark, if any.
};

/// The result of opening a sink.
class opening {
public:
    opening() = default;

    /// Identifies the sink (by the id of a cluster, or a file), to notice if another one takes its
    /// place.
    std::string identity;
    /// The name that an older version gave to the same sink; empty: the same name. A table that
    /// knows the sink by this name goes on.
    std::string older_identity;
    /// The last mark; none: the sink has no mark for this shard.
    std::optional<mark> last;
    /// Why the text in the place of the mark cannot be read as a mark, and what that text is. The
    /// shard is refused until an operator decides where to go on; the next mark then replaces the
    /// text.
    error_code unreadable;
    std::string unreadable_text;
};

/// The outcome of publishing a batch.
class published {
public:
    enum class kind : std::uint8_t {
        committed,  ///< All messages and the mark are published.
        refused,    ///< Nothing is published: some messages never can be, see `poison`.
        again,      ///< Nothing is published; a later try may succeed.
        lost,       ///< The outcome is unknown, or the sink lost its shard: open it anew.
    };
    /// A message that the sink will never take.
    class poisoned {
    public:
        poisoned() = default;
        poisoned(std::size_t at, error_code why, std::string explanation, bool has_no_topic = false)
            : index(at), code(why), text(std::move(explanation)), away(has_no_topic) {}

        std::size_t index = 0;  ///< The index in the batch.
        error_code code;
        std::string text;
        bool away = false;  ///< The topic is missing. The message is sent once it exists.
    };

    published() = default;
    explicit published(kind outcome) : type(outcome) {}
    published(kind outcome, error_code why, std::string explanation)
        : type(outcome), code(why), text(std::move(explanation)) {}

    kind type = kind::committed;
    std::vector<poisoned> poison;  ///< For `refused`: at least one.
    error_code code;               ///< For `again` and `lost`.
    std::string text;
    std::vector<std::string> notices;  ///< Notices for people, independent of the outcome.
    std::string place;                 ///< For `committed`: a hint where to find the mark.
    /// How many messages from the front were published nevertheless. For every outcome but
    /// `committed`, and only from a sink that keeps no marks.
    std::size_t done = 0;
};

/// The destination of messages: Kafka, a file, or a function in the process. There is one object
/// per shard. The relay opens it, publishes one batch after the other, closes it, and may open it
/// again.
///
/// A sink promises two things. The messages of a batch and its mark become visible together, or not
/// at all. An earlier user of the shard can add nothing after `open` has completed. A sink that
/// cannot keep a mark returns false from `keeps_marks`; then a batch may come twice after a crash.
///
/// @par Threads The relay's strand.
class sink {
public:
    virtual ~sink() = default;

    /// Whether the sink keeps the mark with the messages. If not, the only mark is in the table.
    virtual bool keeps_marks() const noexcept = 0;
    /// How long a shard may be idle before the sink forgets it. To prevent that, the relay sends a
    /// batch with a mark only. Zero: for ever.
    virtual std::chrono::milliseconds idle_max() const noexcept { return {}; }

    /// Takes the shard over from its earlier user, and only then reads the last mark. After an
    /// error the relay calls it again a moment later.
    virtual asio::awaitable<result<opening>> open(const shard_name& shard) = 0;
    /// Explains to people why the last `open` failed; empty: the code says everything.
    virtual std::string trouble() const { return {}; }

    /// Publishes the messages in order, together with the mark. Both stay valid until completion.
    /// The sink may move from the messages, except from the ids of those that got through (`done`);
    /// the relay reads again what it has to send again. A cancellation signal may end the call
    /// early, with `lost`.
    virtual asio::awaitable<published> publish(std::span<outgoing> messages, const mark& after) = 0;

    /// Asks whether a topic exists that was `away`. An error means unknown; the relay asks again
    /// later. Called while the sink is open, and never during `publish`. The default answers yes.
    virtual asio::awaitable<result<bool>> has_topic(const std::string& topic);

    /// Releases everything. Does nothing if the sink is not open. Never blocks.
    virtual asio::awaitable<void> close() = 0;
};

/// Creates the sink of one shard, for use on `strand`.
using sink_factory =
    std::function<std::unique_ptr<sink>(asio::any_io_executor strand, std::uint32_t shard)>;

}  // namespace mortise::outbox

#endif
