// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PRODUCER_PRODUCER_CORE_HPP
#define MORTISE_KAFKA_SRC_PRODUCER_PRODUCER_CORE_HPP

#include "mortise/kafka/transaction_outcome.hpp"
#include "producer/batch_pacing.hpp"
#include "producer/producer_calls.hpp"
#include "producer/topic_guide.hpp"

#include <map>
#include <set>
#include <string>

namespace mortise::kafka::detail {

/// The blocking half of a transactional producer. A batch is one transaction, or several attempts
/// at one, until its outcome is clear.
///
/// @par Threads `request_stop`, `says`: any. All others: one, the producer's own.
class producer_core {
public:
    /// @throws mortise::error (`bad_config`)
    producer_core(kafka_config config, const std::string& transactional_id);

    voice& says() noexcept { return calls_.says(); }

    /// @throws boost::system::system_error The reason why it is not ready. Unless that is `fenced`
    ///         or fatal, `init` can be called again.
    void init();
    transaction_outcome run(const transaction_batch& batch);
    /// Serves waiting events: statistics and errors.
    void serve() noexcept { calls_.serve(); }
    /// Ends the running operation soon, and later ones at once.
    void request_stop() noexcept { calls_.request_stop(); }
    void close() noexcept;

private:
    enum class state { fresh, ready, lost, closed };
    using failure = producer_calls::failure;
    using topics = std::set<std::string>;

    transaction_outcome attempt_with_topics(const transaction_batch& batch);
    transaction_outcome attempt_in_sequence(const transaction_batch& batch);
    transaction_outcome attempt(const transaction_batch& batch);
    bool check_topics(const transaction_batch& batch, transaction_outcome& refused);
    transaction_outcome commit(const transaction_batch& batch);
    transaction_outcome abort(failure why);
    void name_guilty(transaction_outcome& outcome) const;
    transaction_outcome lose(error_code why, std::string text);
    transaction_outcome lose(const failure& why, bool uncertain);

    static topics topics_of(const transaction_batch& batch);
    topics new_topics_of(const transaction_batch& batch) const;
    void
    try_topics(const transaction_batch& batch, const topics& names, transaction_outcome& outcome);
    bool try_new_topics(const transaction_batch& batch, transaction_outcome& outcome);
    void blame_only_new_topic(const transaction_batch& batch, transaction_outcome& outcome);
    void refuse_topics(
        const transaction_batch& batch,
        const std::map<std::string, int>& refused,
        transaction_outcome& outcome
    );
    transaction_outcome search(const transaction_batch& batch, transaction_outcome outcome);

    producer_calls calls_;
    topic_guide guide_;
    batch_pacing pacing_;
    state state_ = state::fresh;
    std::string lost_because_;
    topics writable_;  ///< Topics with a committed record.
};

}  // namespace mortise::kafka::detail

#endif
