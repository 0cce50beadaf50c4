// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_PRODUCER_PRODUCER_CALLS_HPP
#define MORTISE_KAFKA_SRC_PRODUCER_PRODUCER_CALLS_HPP

#include "failure_classes.hpp"
#include "handle.hpp"
#include "mortise/coro/clock.hpp"
#include "producer/batch_pacing.hpp"
#include "producer/delivery_book.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

namespace mortise::kafka::detail {

class group_position;

/// The calls of librdkafka's transactional producer, each repeated until its answer is clear.
///
/// @par Threads `request_stop`, `stopping`, `says`: any. All others: one, the producer's own.
class producer_calls {
public:
    /// The reason why a call failed.
    struct failure {
        call_failure answer;
        std::string text;
        bool failed() const noexcept { return answer.code != 0; }
    };

    /// @throws mortise::error (`bad_config`)
    producer_calls(kafka_config config, const std::string& transactional_id);
    ~producer_calls() { says().on_report = nullptr; }
    producer_calls(const producer_calls&) = delete;
    producer_calls& operator=(const producer_calls&) = delete;

    const kafka_config& config() const noexcept { return config_; }
    const handle& client() const noexcept { return handle_; }
    voice& says() noexcept { return handle_.says(); }
    void request_stop() noexcept { stopping_ = true; }
    bool stopping() const noexcept { return stopping_; }

    /// Opens the handle, fences older producers, and settles their last transaction.
    failure init();
    /// Serves waiting events: statistics and errors.
    void serve() noexcept;
    /// Serves events until one comes, at most for a slice.
    void wait_for_event() noexcept { ::rd_kafka_poll(handle_.get(), slice_ms); }
    void close() noexcept { handle_.close(); }

    failure begin();
    /// Begins a transaction with this record alone, to learn whether its topic can be written to.
    /// @return the reason against it; none if there is none, or if the record itself is refused.
    failure try_alone(const record& record);
    failure commit();
    failure abort();
    /// Whether a broker may receive the last commit or abort a second time (KAFKA-17754).
    bool was_disturbed();

    /// The deliveries of the open transaction.
    delivery_book& book() noexcept { return book_; }
    const delivery_book& book() const noexcept { return book_; }

    // Each returns whether the transaction can go on; if not, `last_failure` is the reason.

    bool produce_all(const transaction_batch& batch, batch_pacing& pacing);
    bool produce(const record& record, std::size_t index);
    bool flush();
    /// Adds the offsets of a group's member to the transaction.
    bool send_offsets(const group_position& consumed);

    const failure& last_failure() const noexcept { return last_failure_; }

private:
    using call = std::function<rd_kafka_error_t*(int limit_ms)>;

    failure failure_of(const rd_kafka_error_t& error);
    failure until_decided(const call& operation, clock::duration limit, int slice = slice_ms);
    failure prove_commit();
    failure why_not();
    bool produce_in_turn(const record& record, std::size_t index, batch_pacing& pacing);
    int hand_over(const record& record, std::size_t index);

    const kafka_config config_;
    handle handle_;
    delivery_book book_;
    std::atomic<bool> stopping_{false};
    failure last_failure_;
    int disturbed_ = 0;     ///< The code of a connection failure in the last call.
    bool resumed_ = false;  ///< A call was resumed since the last begin.
};

}  // namespace mortise::kafka::detail

#endif
