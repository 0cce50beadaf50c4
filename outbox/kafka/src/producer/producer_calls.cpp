// SPDX-License-Identifier: BSL-1.0
#include "producer/producer_calls.hpp"

#include "consumer/group_position.hpp"
#include "mortise/coro/detail/crash_point.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::kafka::detail {
namespace {

using std::chrono::milliseconds;

// How long a stop waits for a call whose result is decided but not yet reported.
constexpr milliseconds stop_time{1'000};
// The slice of a call that ends a transaction: long, to resume the call rarely (see `begin`).
constexpr int end_slice_ms = 1'000;
// How many answers of earlier calls are assumed to be left behind, at most.
constexpr int late_answers_max = 4;

}  // namespace

producer_calls::producer_calls(kafka_config config, const std::string& transactional_id)
    : config_(std::move(config)), handle_(config_, purpose::producing, transactional_id) {
    says().on_report = [this](const rd_kafka_message_t& message) { book_.on_report(message); };
}

void producer_calls::serve() noexcept {
    if (handle_.get() != nullptr)
        ::rd_kafka_poll(handle_.get(), 0);
}

producer_calls::failure producer_calls::failure_of(const rd_kafka_error_t& error) {
    failure seen;
    seen.answer = {
        ::rd_kafka_error_code(&error),
        ::rd_kafka_error_is_fatal(&error) != 0,
        ::rd_kafka_error_txn_requires_abort(&error) != 0,
        ::rd_kafka_error_is_retriable(&error) != 0};
    seen.text = says().hidden().hide_in(::rd_kafka_error_string(&error));
    return seen;
}

// Repeats a call until its answer is clear, the time is up, or the producer is stopped. After a
// timeout or a stop it returns the last failure, which could be resumed. After a call was resumed,
// "wrong state" may be the end of a phase that was skipped (see `begin`): the next call does it.
producer_calls::failure
producer_calls::until_decided(const call& operation, clock::duration limit, int slice) {
    clock::time_point end = clock::now() + limit;
    const int whole_ms = static_cast<int>(std::chrono::duration_cast<milliseconds>(limit).count());
    const int each_ms = std::min(slice, whole_ms);
    bool shortened = false;
    int wrong_states = 0;
    serve();  // Discard earlier failures.
    says().take_failure();
    disturbed_ = 0;
    for (;;) {
        const owned<rd_kafka_error_t> error(operation(each_ms));
        if (!error) {
            says().forget_trouble();
            return {};
        }
        failure seen = failure_of(*error);
        const bool skipped = resumed_ && seen.answer.code == RD_KAFKA_RESP_ERR__STATE &&
                             ++wrong_states < late_answers_max;
        if (remedy_of(seen.answer) != remedy::resume && !skipped)
            return seen;
        resumed_ = true;
        serve();
        if (const int code = says().take_failure(); code != 0)
            disturbed_ = code;
        // A refused login is refused again on the next try.
        if (is_of_class(disturbed_, condition::not_authorized)) {
            seen.answer.code = disturbed_;
            return seen;
        }
        if (stopping_ && !shortened) {
            shortened = true;
            end = std::min(end, clock::now() + stop_time);
        }
        if (clock::now() >= end)
            return seen;
    }
}

producer_calls::failure producer_calls::init() {
    handle_.open();
    return until_decided(
        [this](int limit_ms) { return ::rd_kafka_init_transactions(handle_.get(), limit_ms); },
        config_.init_wait_max
    );
}

// A resumed call may leave an answer behind. librdkafka (2.0.2) gives that answer to the next call,
// and does not do what that call asks for. So after a resumed call, this begins a transaction until
// the library says that one is open: each answer left behind takes one call.
producer_calls::failure producer_calls::begin() {
    const bool doubtful = std::exchange(resumed_, false);
    failure seen;
    for (int tries = 0; tries < late_answers_max; ++tries) {
        const owned<rd_kafka_error_t> error(::rd_kafka_begin_transaction(handle_.get()));
        if (!error && !doubtful)
            return {};
        if (!error)
            continue;
        seen = failure_of(*error);
        const bool is_open = tries > 0 && seen.answer.code == RD_KAFKA_RESP_ERR__STATE;
        return is_open ? failure() : seen;
    }
    seen.answer = {RD_KAFKA_RESP_ERR__STATE, true, false, false};
    seen.text = "librdkafka does not say that a transaction is open";
    return seen;
}

// Names the present membership in the group: an earlier one has lost its partitions.
bool producer_calls::send_offsets(const group_position& consumed) {
    constexpr int limit_ms = 1'000;  // Each call asks anew.
    const auto metadata = consumed.metadata();
    const auto offsets = consumed.list();
    if (!metadata) {
        last_failure_ = {};
        last_failure_.answer = {RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, false, true, false};
        return false;
    }
    last_failure_ = until_decided(
        [&](int) {
            return ::rd_kafka_send_offsets_to_transaction(
                handle_.get(), offsets.get(), metadata.get(), limit_ms
            );
        },
        config_.commit_wait_max
    );
    MORTISE_CRASH_POINT("kafka.offsets_sent");
    return !last_failure_.failed();
}

producer_calls::failure producer_calls::commit() {
    says().take_failure();
    MORTISE_CRASH_POINT("kafka.commit");
    failure seen = until_decided(
        [this](int limit_ms) { return ::rd_kafka_commit_transaction(handle_.get(), limit_ms); },
        config_.commit_wait_max,
        end_slice_ms
    );
    const bool doubtful = resumed_ && !seen.failed();
    if (doubtful)
        seen = prove_commit();
    // Nobody knows then whether it has committed: neither abort nor repeat.
    if (doubtful || (resumed_ && seen.answer.code == RD_KAFKA_RESP_ERR__STATE)) {
        seen.answer.abortable = false;
        seen.answer.retriable = seen.failed();
    }
    return seen;
}

// A resumed commit may be given answers of earlier calls in all of its phases, and then says that
// it has committed although it has not. A new transaction can be begun only if it has; that one is
// aborted, which asks no broker, as it is empty.
producer_calls::failure producer_calls::prove_commit() {
    if (failure seen = begin(); seen.failed())
        return seen;
    const owned<rd_kafka_error_t> error(::rd_kafka_abort_transaction(handle_.get(), end_slice_ms));
    return error ? failure_of(*error) : failure();
}

producer_calls::failure producer_calls::abort() {
    return until_decided(
        [this](int limit_ms) { return ::rd_kafka_abort_transaction(handle_.get(), limit_ms); },
        config_.commit_wait_max,
        end_slice_ms
    );
}

bool producer_calls::was_disturbed() {
    serve();
    return disturbed_ != 0 || says().take_failure() != 0 || says().connection_lost();
}

}  // namespace mortise::kafka::detail
