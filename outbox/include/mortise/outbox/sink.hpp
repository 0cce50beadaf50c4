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

/// A message on its way, with the number of its row.
class outgoing {
public:
    outgoing() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::int64_t row = 0;
    message what;
    std::chrono::system_clock::time_point written;  ///< When it was appended.
};

/// Which stream of messages a sink is for.
class shard_name {
public:
    shard_name() = default;

    std::string table;         ///< Random id of the message table.
    std::uint32_t shard = 0;   ///< Never used twice for other rows, also when their number changes.
    std::string first_sought;  ///< The `place` that was acknowledged last, if any.
};

/// What a sink says when it was opened.
class opening {
public:
    opening() = default;

    /// Which sink it is (a cluster's id, a file's), so that another one in its place is noticed.
    std::string identity;
    /// What an older version called the same sink; empty: the same. A table that knows it by that
    /// name goes on.
    std::string older_identity;
    /// The last mark; none: it keeps none for this shard.
    std::optional<mark> last;
    /// Something stands in the place of the mark that is none: why, and what it is. The shard is
    /// refused until an operator has said where to go on; the next mark then takes its place.
    error_code unreadable;
    std::string unreadable_text;
};

/// What became of a batch.
class published {
public:
    enum class kind : std::uint8_t {
        committed,  ///< All of it is published, and the mark with it.
        refused,    ///< Nothing is, as some messages never can be: `poison`.
        again,      ///< Nothing is; the same may work a moment later.
        lost,       ///< Nobody knows, or the sink is not ours any more: open it anew.
    };
    /// A message that the sink will never take.
    class poisoned {
    public:
        poisoned() = default;
        poisoned(std::size_t at, error_code why, std::string said, bool has_no_topic = false)
            : index(at), code(why), text(std::move(said)), away(has_no_topic) {}

        std::size_t index = 0;  ///< In the batch.
        error_code code;
        std::string text;
        bool away = false;  ///< Its topic is not there. The message is sent when it is.
    };

    published() = default;
    explicit published(kind came) : what(came) {}
    published(kind came, error_code why, std::string said)
        : what(came), code(why), text(std::move(said)) {}

    kind what = kind::committed;
    std::vector<poisoned> poison;  ///< Of `refused`: at least one.
    error_code code;               ///< Of `again` and `lost`.
    std::string text;
    std::vector<std::string> notices;  ///< What people should know, whatever came of the batch.
    std::string place;                 ///< Of `committed`: where the mark lies; helps to find it.
    /// Of all but `committed`, by a sink that keeps no marks: so many from the front got through.
    std::size_t done = 0;
};

/// Where messages go: Kafka, a file, a function in the process. One object for each shard, which
/// the relay opens, uses for one batch after the other, closes, and may open again.
///
/// What a sink has to promise: messages and mark of a batch become visible together or not at all,
/// and whoever used it before `open` cannot add anything after it. One that cannot keep a mark says
/// so by `keeps_marks`; then a batch may come twice after a crash.
///
/// @par Threads The relay's strand.
class sink {
public:
    virtual ~sink() = default;

    /// Whether the mark is kept with the messages. If not, the table has the only one.
    virtual bool keeps_marks() const noexcept = 0;
    /// How long a shard may be idle before the sink would forget it: the relay then sends an empty
    /// batch, with a mark only. Zero: for ever.
    virtual std::chrono::milliseconds idle_max() const noexcept { return {}; }

    /// Takes the shard over from whoever had it, and only then reads the last mark. After an error
    /// it is called again a moment later.
    virtual asio::awaitable<result<opening>> open(const shard_name& shard) = 0;
    /// Why the last `open` failed, for people; empty: the code says it all.
    virtual std::string trouble() const { return {}; }

    /// Publishes these messages in their order, with the mark. Both stay until the answer is there.
    /// What a message holds is the sink's to move from, but for the id of one that got through
    /// (`done`): what is to be sent again is read again. A signal of cancellation may end it early,
    /// as `lost`.
    virtual asio::awaitable<published> publish(std::span<outgoing> messages, const mark& after) = 0;

    /// Whether a topic is there that was `away`. An error: nobody knows; it is asked again later.
    /// Used while the sink is open, and never beside `publish`.
    virtual asio::awaitable<result<bool>> has_topic(const std::string& topic);

    /// Lets go of everything. Nothing happens if it is not open. Blocks nobody.
    virtual asio::awaitable<void> close() = 0;
};

/// Makes the sink of one shard, for use on that strand.
using sink_factory =
    std::function<std::unique_ptr<sink>(asio::any_io_executor strand, std::uint32_t shard)>;

}  // namespace mortise::outbox

#endif
