// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_TRANSACTION_OUTCOME_HPP
#define MORTISE_KAFKA_TRANSACTION_OUTCOME_HPP

#include "mortise/error.hpp"
#include "mortise/kafka/record.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::kafka {

namespace detail {
class group_position;  // of the processor
}

/// Records that are committed in one transaction.
class transaction_batch {
public:
    transaction_batch() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::vector<record> records;

    /// Goes out together with `records`, before them. If it goes to the partition of `last`, it
    /// saves `last` a round trip, because the partition is part of the transaction by then.
    std::optional<record> first;

    /// Goes out only after all others are acknowledged: the mark that says how far they reach.
    std::optional<record> last;

    /// Tries new topics of this producer one by one first, in transactions that are never
    /// committed. Use it for a batch that ended with `lost` and a code that blames a topic: nothing
    /// else tells which topic it was.
    bool wary = false;

    /// The offsets up to which a processor has read, committed with the records that it made; else
    /// null.
    std::shared_ptr<const detail::group_position> consumed;
};

/// A record that cannot be delivered as it is. `condition::unknown_topic` means that its topic is
/// missing and was waited for.
struct refused_record {
    /// The index in the batch: `records.size()` stands for `last`, and one more for `first`.
    std::size_t index = 0;
    error_code code;
    std::string text;
};

/// How a transaction ended.
class transaction_outcome {
public:
    enum class kind : std::uint8_t {
        /// All of the batch is in Kafka, and consumers see it.
        committed,
        /// Nothing of the batch will ever be visible. `refused` names records that are the reason,
        /// not always all of them. Remove them and run the rest again, with the same producer
        /// unless `renew` is set.
        refused,
        /// Nothing of the batch will ever be visible. Run it again with the same producer.
        again,
        /// The producer must be destroyed, and it is unknown whether the batch was committed. The
        /// mark tells: read it after `async_init` of a new producer with the same transactional id.
        /// A transaction also ends so if a broker may have received an abort twice (KAFKA-17754).
        lost,
    };

    transaction_outcome() = default;

    kind type = kind::lost;

    /// The position of the last record, once committed: `transaction_batch::last`, else the last of
    /// `records`.
    record_position last;

    /// The producer must be replaced by a new one. After `refused` it is lost. After `committed` it
    /// means that the commit needed several tries, so a broker may still hold an old request of
    /// this producer (KAFKA-17754).
    bool renew = false;

    std::vector<refused_record> refused;

    /// Notices for people, independent of the outcome: a topic got more partitions, and its keys go
    /// to other ones now.
    std::vector<std::string> notices;

    /// Why it was not committed. With `lost`: `condition::fenced`, `errc::uncertain`, `errc::lost`,
    /// `errc::not_ready`, `operation_aborted` (stopped), or a fatal error.
    error_code code;
    std::string text;  ///< From librdkafka, for people; may be empty.
};

const char* to_string(transaction_outcome::kind kind) noexcept;

}  // namespace mortise::kafka

#endif
