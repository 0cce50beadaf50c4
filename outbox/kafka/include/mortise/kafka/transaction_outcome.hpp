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

class group_position;  // of the processor

/// What is to be committed as one.
class transaction_batch {
public:
    transaction_batch() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::vector<record> records;

    /// Goes out with the others, before them. One to the partition of `last` spares that a round
    /// trip, for its partition is part of the transaction by then.
    std::optional<record> first;

    /// Goes out only when all others are acknowledged: the mark that says how far they reach.
    std::optional<record> last;

    /// Topics to which this producer has not written yet are first tried one by one, in
    /// transactions that are never committed. For the batch with which a producer was `lost` with a
    /// code that blames a topic: nothing else says which of them it was.
    bool wary = false;

    /// How far a processor has come, which is committed with what it made; else none.
    std::shared_ptr<const group_position> consumed;
};

/// A record that cannot be delivered as it is. With `condition::unknown_topic` its topic is not
/// there, and was waited for.
struct refused_record {
    /// In the batch; `records.size()` is its last record, and one more is its first.
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
        /// Nothing of the batch will ever be seen. `refused` names records that are the reason, not
        /// always all of them: take them out and run the rest again, with the same producer unless
        /// `renew` says that it is lost.
        refused,
        /// Nothing of the batch will ever be seen: run it again, with the same producer.
        again,
        /// The producer must be destroyed. Whether the batch was committed, the mark says that a
        /// new producer of the same transactional id reads after its `async_init`. So it ends
        /// also if a broker may have been asked for an abort twice (KAFKA-17754).
        lost,
    };

    transaction_outcome() = default;

    kind what = kind::lost;

    /// Where the last record of the batch is, once committed.
    record_position last;

    /// After `committed`: the commit needed several tries, and it is wise to go on with a new
    /// producer, for a broker may still have an old request of this one (KAFKA-17754).
    bool renew = false;

    std::vector<refused_record> refused;

    /// What people should know, whatever the outcome: a topic was given partitions, so that its
    /// keys go elsewhere.
    std::vector<std::string> notices;

    /// Why it was not committed. When lost: `condition::fenced`, `errc::uncertain`, `errc::lost`,
    /// `errc::not_ready`, `operation_aborted` (stopped), or what was fatal.
    error_code code;
    std::string text;  ///< Of librdkafka, for people; may be empty.
};

const char* to_string(transaction_outcome::kind what) noexcept;

}  // namespace mortise::kafka

#endif
