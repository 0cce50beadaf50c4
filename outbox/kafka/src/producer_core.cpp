// SPDX-License-Identifier: BSL-1.0
#include "producer_core.hpp"

#include "batch_records.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "processor/group_position.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::kafka {
namespace {

using std::chrono::milliseconds;

// How long a stop waits for a call whose result is decided but not yet reported.
constexpr milliseconds stop_time{1'000};
// A commit or abort that took longer may have been sent twice. An abort after a refusal is slow.
constexpr milliseconds smooth_commit{2'000};
constexpr milliseconds smooth_abort{5'000};
// The slice of a call that ends a transaction: long, to resume the call rarely (see `begin`).
constexpr int end_slice_ms = 1'000;

}  // namespace

producer_core::producer_core(kafka_config config, const std::string& transactional_id)
    : config_(std::move(config)),
      handle_(config_, purpose::producing, transactional_id),
      guide_(handle_, config_.answer_wait_max, config_.topic_wait_max, [this] {
          return !stopping_;
      }) {
    says().on_report = [this](const rd_kafka_message_t& message) { book_.on_report(message); };
}

void producer_core::close() noexcept {
    guide_.forget();
    handle_.close();
    state_ = state::closed;
}

void producer_core::serve() noexcept {
    if (handle_.get() != nullptr)
        ::rd_kafka_poll(handle_.get(), 0);
}

void producer_core::init() {
    if (stopping_ || state_ == state::closed)
        throw boost::system::system_error(asio::error::operation_aborted);
    if (state_ == state::ready)
        return;
    if (state_ == state::lost)
        throw boost::system::system_error(make_error_code(errc::lost));
    handle_.open();
    const failure why = until_decided(
        [this](int limit_ms) { return ::rd_kafka_init_transactions(handle_.get(), limit_ms); },
        config_.init_wait_max
    );
    if (!why.failed()) {
        state_ = state::ready;
        return;
    }
    if (stopping_)
        throw boost::system::system_error(asio::error::operation_aborted);
    if (remedy_of(why.answer) != remedy::resume) {
        state_ = state::lost;
        if (says().trouble().empty())
            says().note_trouble(why.text);
    }
    throw boost::system::system_error(kafka_error(why.answer.code), why.text);
}

producer_core::failure producer_core::failure_of(const rd_kafka_error_t& error) {
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
// timeout or a stop it returns the last failure, which could be resumed.
producer_core::failure
producer_core::until_decided(const call& operation, clock::duration limit, int slice) {
    clock::time_point end = clock::now() + limit;
    const int whole_ms = static_cast<int>(std::chrono::duration_cast<milliseconds>(limit).count());
    const int each_ms = std::min(slice, whole_ms);
    bool shortened = false;
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
        if (remedy_of(seen.answer) != remedy::resume)
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

transaction_outcome producer_core::lose(error_code why, std::string text) {
    if (state_ == state::ready) {
        state_ = state::lost;
        lost_because_ = text.empty() ? why.message() : text;
    }
    transaction_outcome outcome;
    outcome.type = transaction_outcome::kind::lost;
    outcome.code = why;
    outcome.text = std::move(text);
    return outcome;
}

transaction_outcome producer_core::lose(const failure& why, bool uncertain) {
    if (stopping_)
        return lose(asio::error::operation_aborted, why.text);
    if (uncertain)
        return lose(errc::uncertain, why.text);
    return lose(kafka_error(why.answer.code), why.text);
}

transaction_outcome producer_core::run(const transaction_batch& batch) {
    if (stopping_ || state_ == state::closed)
        return lose(asio::error::operation_aborted, {});
    if (state_ == state::fresh)
        return lose(errc::not_ready, {});
    if (state_ == state::lost)
        return lose(errc::lost, lost_because_);
    using kind = transaction_outcome::kind;
    transaction_outcome outcome;
    if (batch.wary && !try_new_topics(batch, outcome))
        return outcome;
    outcome = attempt_with_topics(batch);
    if (outcome.type == kind::again && !book_.suspects().empty())
        outcome = search(batch, std::move(outcome));
    if (outcome.type == kind::again && blames_topic(outcome.code.value()))
        try_topics(batch, topics_of(batch), outcome);
    if (outcome.type == kind::lost && blames_topic(outcome.code.value()))
        blame_only_new_topic(batch, outcome);
    if (outcome.type == kind::committed)
        writable_.merge(topics_of(batch));
    // Topics may have been deleted, or may have other partitions now.
    if (outcome.type != transaction_outcome::kind::committed)
        guide_.forget();
    for (const topic_guide::growth& each : guide_.take_growths())
        outcome.notices.push_back(
            "topic " + each.topic + " has " + std::to_string(each.now) + " partitions and had " +
            std::to_string(each.before) +
            ": messages of a key may be read in another order than they were sent"
        );
    return outcome;
}

// Brokers learn of new and changed topics one after the other, so a broker that does not know a
// topic now may know it soon. Each attempt waits for its topics.
transaction_outcome producer_core::attempt_with_topics(const transaction_batch& batch) {
    const clock::time_point end = clock::now() + config_.topic_wait_max;
    for (;;) {
        transaction_outcome outcome = attempt_in_sequence(batch);
        if (outcome.type != transaction_outcome::kind::again || book_.away().empty() || stopping_)
            return outcome;
        if (clock::now() >= end) {
            const auto away = book_.away();
            for (const auto& [index, code] : away)
                book_.on_proof(index, code);
            name_guilty(outcome);
            return outcome;
        }
        guide_.forget();
        ::rd_kafka_poll(handle_.get(), slice_ms);
    }
}

// After a broker has refused records, librdkafka 2.0 continues with sequence numbers that the
// broker does not expect. The first record of the next transaction fails, and the abort of that
// transaction repairs the numbers.
transaction_outcome producer_core::attempt_in_sequence(const transaction_batch& batch) {
    constexpr int tries_max = 3;
    for (int tries = 1;; ++tries) {
        transaction_outcome outcome = attempt(batch);
        if (outcome.type != transaction_outcome::kind::again || tries == tries_max ||
            outcome.code.value() != RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER)
            return outcome;
    }
}

transaction_outcome producer_core::attempt(const transaction_batch& batch) {
    book_.open(index_end(batch));
    together_.clear();
    transaction_outcome refused;
    if (!check_topics(batch, refused))
        return refused;
    if (const failure why = begin(); why.failed())
        return lose(why, false);
    MORTISE_CRASH_POINT("kafka.begun");
    if (!produce_all(batch))
        return abort(last_failure_);
    MORTISE_CRASH_POINT("kafka.produced");
    if (batch.consumed && !send_offsets(*batch.consumed))
        return abort(last_failure_);
    return commit(batch);
}

// Names the present membership in the group: an earlier one has lost its partitions.
bool producer_core::send_offsets(const group_position& consumed) {
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

// A resumed call may leave an answer behind. librdkafka (2.0.2) gives that answer to the next call,
// and does not do what that call asks for. So after a resumed call, this begins a transaction until
// the library says that one is open: each answer left behind takes one call.
producer_core::failure producer_core::begin() {
    constexpr int tries_max = 4;
    const bool doubtful = std::exchange(resumed_, false);
    failure seen;
    for (int tries = 0; tries < tries_max; ++tries) {
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

// Checks the topics of all records before anything is sent.
bool producer_core::check_topics(const transaction_batch& batch, transaction_outcome& refused) {
    std::map<std::string, int> unusable;
    const record* usable = nullptr;  // The last record whose topic was usable.
    const auto code_of = [&](const record& record) -> int {
        if (usable && usable->topic == record.topic && usable->partition == record.partition)
            return 0;
        if (const auto found = unusable.find(record.topic); found != unusable.end())
            return found->second;
        const int code = guide_.check(record.topic, record.partition);
        if (code != 0 && code != RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
            unusable.emplace(record.topic, code);
        usable = code == 0 ? &record : nullptr;
        return code;
    };
    int other = 0;
    for_each_record(batch, [&](const record& record, std::size_t index) {
        const int code = other == 0 ? code_of(record) : 0;
        if (blame_of_call(code) != blame::none)
            book_.on_proof(index, code);
        else if (code != 0)
            other = code;
    });
    if (book_.guilty().empty() && other == 0)
        return true;
    if (stopping_) {
        refused = lose(asio::error::operation_aborted, {});
        return false;
    }
    refused.type = transaction_outcome::kind::again;
    refused.code = kafka_error(other);
    name_guilty(refused);
    return false;
}

void producer_core::name_guilty(transaction_outcome& outcome) const {
    for (const auto& [index, code] : book_.guilty()) {
        refused_record one;
        one.index = index;
        one.code = kafka_error(code);
        one.text = ::rd_kafka_err2str(static_cast<rd_kafka_resp_err_t>(code));
        outcome.refused.push_back(std::move(one));
    }
    if (outcome.refused.empty())
        return;
    outcome.type = transaction_outcome::kind::refused;
    outcome.code = outcome.refused.front().code;
}

transaction_outcome producer_core::commit(const transaction_batch& batch) {
    const clock::time_point began = clock::now();
    // Flush first: a commit that waits for records would be resumed more often.
    if (!flush())
        return abort(last_failure_);
    says().take_failure();
    MORTISE_CRASH_POINT("kafka.commit");
    const failure why = until_decided(
        [this](int limit_ms) { return ::rd_kafka_commit_transaction(handle_.get(), limit_ms); },
        config_.commit_wait_max,
        end_slice_ms
    );
    if (why.failed()) {
        if (remedy_of(why.answer) == remedy::abort)
            return abort(why);
        return lose(why, remedy_of(why.answer) == remedy::resume);
    }
    MORTISE_CRASH_POINT("kafka.committed");
    transaction_outcome done;
    done.type = transaction_outcome::kind::committed;
    if (batch.last)
        done.last = book_.position(index_of_last(batch));
    else if (!batch.records.empty())
        done.last = book_.position(batch.records.size() - 1);
    done.renew = clock::now() - began > smooth_commit || was_disturbed();
    return done;
}

// Whether the broker may receive a second copy of the request later (KAFKA-17754).
bool producer_core::was_disturbed() {
    serve();
    return disturbed_ != 0 || says().take_failure() != 0 || says().connection_lost();
}

transaction_outcome producer_core::abort(failure why) {
    const clock::time_point began = clock::now();
    if (remedy_of(why.answer) == remedy::give_up && why.failed())
        return lose(why, false);
    const failure end = until_decided(
        [this](int limit_ms) { return ::rd_kafka_abort_transaction(handle_.get(), limit_ms); },
        config_.commit_wait_max,
        end_slice_ms
    );
    const bool fenced = is_of_class(end.answer.code, condition::fenced);
    if (end.failed() && !fenced && blames_topic(why.answer.code) && !stopping_)
        return lose(kafka_error(why.answer.code), why.text + "; " + end.text);
    if (end.failed())
        return lose(end, remedy_of(end.answer) == remedy::resume);
    if (stopping_)
        return lose(asio::error::operation_aborted, {});
    // A late second abort would end the next transaction. It would abort the records that are in
    // that transaction by then, while the mark, which follows later, would be committed.
    if (was_disturbed() || clock::now() - began > smooth_abort)
        return lose(errc::uncertain, why.text + "; its end may have been asked for twice");
    book_.judge();
    transaction_outcome outcome;
    outcome.type = transaction_outcome::kind::again;
    outcome.code = kafka_error(why.answer.code);
    outcome.text = std::move(why.text);
    if (!book_.away().empty())
        outcome.code = kafka_error(book_.away().begin()->second);
    name_guilty(outcome);
    return outcome;
}

}  // namespace mortise::kafka
