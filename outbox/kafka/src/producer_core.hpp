// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PRODUCER_CORE_HPP
#define MORTISE_KAFKA_SRC_PRODUCER_CORE_HPP

#include "delivery_book.hpp"
#include "failure_classes.hpp"
#include "handle.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/kafka/transaction_outcome.hpp"
#include "topic_guide.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace mortise::kafka {

/// The blocking half of a transactional producer.
///
/// @par Threads `request_stop`, `says`: any. All others: one, the producer's own.
class producer_core {
public:
    /// @throws mortise::error (`bad_config`)
    producer_core(kafka_config config, const std::string& transactional_id);
    ~producer_core() { says().on_report = nullptr; }
    producer_core(const producer_core&) = delete;
    producer_core& operator=(const producer_core&) = delete;

    voice& says() noexcept { return handle_.says(); }

    /// @throws boost::system::system_error The reason why it is not ready. Unless that is `fenced`
    ///         or fatal, `init` can be called again.
    void init();
    transaction_outcome run(const transaction_batch& batch);
    /// Serves waiting events: statistics and errors.
    void serve() noexcept;
    /// Ends the running operation soon, and later ones at once.
    void request_stop() noexcept { stopping_ = true; }
    void close() noexcept;

private:
    enum class state { fresh, ready, lost, closed };
    struct failure {
        call_failure answer;
        std::string text;
        bool failed() const noexcept { return answer.code != 0; }
    };
    using call = std::function<rd_kafka_error_t*(int limit_ms)>;

    transaction_outcome attempt_with_topics(const transaction_batch& batch);
    transaction_outcome attempt_in_sequence(const transaction_batch& batch);
    transaction_outcome attempt(const transaction_batch& batch);
    using topics = std::set<std::string>;
    static topics topics_of(const transaction_batch& batch);
    void
    try_topics(const transaction_batch& batch, const topics& names, transaction_outcome& outcome);
    bool try_new_topics(const transaction_batch& batch, transaction_outcome& outcome);
    void blame_only_new_topic(const transaction_batch& batch, transaction_outcome& outcome);
    void refuse_topics(
        const transaction_batch& batch,
        const std::map<std::string, int>& refused,
        transaction_outcome& outcome
    );
    bool check_topics(const transaction_batch& batch, transaction_outcome& refused);
    failure begin();
    bool produce_all(const transaction_batch& batch);
    bool produce(const record& record, std::size_t index);
    bool pause_is_due(const record& record, std::size_t index);
    bool produce_in_turn(const record& record, std::size_t index);
    int hand_over(const record& record, std::size_t index);
    failure why_not();
    bool send_offsets(const group_position& consumed);
    bool flush();
    transaction_outcome commit(const transaction_batch& batch);
    transaction_outcome abort(failure why);
    bool was_disturbed();
    void name_guilty(transaction_outcome& outcome) const;
    transaction_outcome search(const transaction_batch& batch, transaction_outcome outcome);
    void narrow(const transaction_batch& batch, bool last_try);

    failure failure_of(const rd_kafka_error_t& error);
    failure until_decided(const call& operation, clock::duration limit, int slice = slice_ms);
    transaction_outcome lose(error_code why, std::string text);
    transaction_outcome lose(const failure& why, bool uncertain);

    const kafka_config config_;
    handle handle_;
    topic_guide guide_;
    delivery_book book_;
    std::atomic<bool> stopping_{false};
    state state_ = state::fresh;
    std::string lost_because_;
    failure last_failure_;
    topics writable_;       ///< Topics with a committed record.
    int disturbed_ = 0;     ///< The code of a connection failure in the last call.
    bool resumed_ = false;  ///< A call was resumed since the last begin.

    /// Limits of the bytes sent together to topics that take less than the settings allow; the
    /// bytes under way; and sizes that were too much.
    std::map<std::string, std::size_t> together_max_;
    std::map<std::string, std::size_t> together_;
    std::map<std::string, std::size_t> too_much_;
    /// For the present batch: records before which everything is flushed, and topics whose records
    /// each go alone.
    std::set<std::size_t> pauses_;
    std::set<std::string> alone_;
};

}  // namespace mortise::kafka

#endif
