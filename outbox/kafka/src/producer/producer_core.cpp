// SPDX-License-Identifier: BSL-1.0
#include "producer/producer_core.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "producer/batch_records.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::kafka::detail {
namespace {

using std::chrono::milliseconds;

// A commit or abort that took longer may have been sent twice. An abort after a refusal is slow.
constexpr milliseconds smooth_commit{2'000};
constexpr milliseconds smooth_abort{5'000};

}  // namespace

producer_core::producer_core(kafka_config config, const std::string& transactional_id)
    : calls_(std::move(config), transactional_id),
      guide_(
          calls_.client(),
          calls_.config().answer_wait_max,
          calls_.config().topic_wait_max,
          [this] { return !calls_.stopping(); }
      ) {}

void producer_core::close() noexcept {
    guide_.forget();
    calls_.close();
    state_ = state::closed;
}

void producer_core::init() {
    if (calls_.stopping() || state_ == state::closed)
        throw boost::system::system_error(asio::error::operation_aborted);
    if (state_ == state::ready)
        return;
    if (state_ == state::lost)
        throw boost::system::system_error(make_error_code(errc::lost));
    const failure why = calls_.init();
    if (!why.failed()) {
        state_ = state::ready;
        return;
    }
    if (calls_.stopping())
        throw boost::system::system_error(asio::error::operation_aborted);
    if (remedy_of(why.answer) != remedy::resume) {
        state_ = state::lost;
        if (says().trouble().empty())
            says().note_trouble(why.text);
    }
    throw boost::system::system_error(kafka_error(why.answer.code), why.text);
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
    if (calls_.stopping())
        return lose(asio::error::operation_aborted, why.text);
    if (uncertain)
        return lose(errc::uncertain, why.text);
    return lose(kafka_error(why.answer.code), why.text);
}

transaction_outcome producer_core::run(const transaction_batch& batch) {
    if (calls_.stopping() || state_ == state::closed)
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
    if (outcome.type == kind::again && !calls_.book().suspects().empty())
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
    const clock::time_point end = clock::now() + calls_.config().topic_wait_max;
    for (;;) {
        transaction_outcome outcome = attempt_in_sequence(batch);
        if (outcome.type != transaction_outcome::kind::again || calls_.book().away().empty() ||
            calls_.stopping())
            return outcome;
        if (clock::now() >= end) {
            const auto away = calls_.book().away();
            for (const auto& [index, code] : away)
                calls_.book().on_proof(index, code);
            name_guilty(outcome);
            return outcome;
        }
        guide_.forget();
        calls_.wait_for_event();
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
    calls_.book().open(index_end(batch));
    pacing_.begin();
    transaction_outcome refused;
    if (!check_topics(batch, refused))
        return refused;
    if (const failure why = calls_.begin(); why.failed())
        return lose(why, false);
    MORTISE_CRASH_POINT("kafka.begun");
    if (!calls_.produce_all(batch, pacing_))
        return abort(calls_.last_failure());
    MORTISE_CRASH_POINT("kafka.produced");
    if (batch.consumed && !calls_.send_offsets(*batch.consumed))
        return abort(calls_.last_failure());
    return commit(batch);
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
            calls_.book().on_proof(index, code);
        else if (code != 0)
            other = code;
    });
    if (calls_.book().guilty().empty() && other == 0)
        return true;
    if (calls_.stopping()) {
        refused = lose(asio::error::operation_aborted, {});
        return false;
    }
    refused.type = transaction_outcome::kind::again;
    refused.code = kafka_error(other);
    name_guilty(refused);
    return false;
}

void producer_core::name_guilty(transaction_outcome& outcome) const {
    for (const auto& [index, code] : calls_.book().guilty()) {
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
    if (!calls_.flush())
        return abort(calls_.last_failure());
    const failure why = calls_.commit();
    if (why.failed()) {
        if (remedy_of(why.answer) == remedy::abort)
            return abort(why);
        return lose(why, remedy_of(why.answer) == remedy::resume);
    }
    MORTISE_CRASH_POINT("kafka.committed");
    transaction_outcome done;
    done.type = transaction_outcome::kind::committed;
    if (batch.last)
        done.last = calls_.book().position(index_of_last(batch));
    else if (!batch.records.empty())
        done.last = calls_.book().position(batch.records.size() - 1);
    done.renew = clock::now() - began > smooth_commit || calls_.was_disturbed();
    return done;
}

transaction_outcome producer_core::abort(failure why) {
    const clock::time_point began = clock::now();
    if (remedy_of(why.answer) == remedy::give_up && why.failed())
        return lose(why, false);
    const failure end = calls_.abort();
    const bool fenced = is_of_class(end.answer.code, condition::fenced);
    if (end.failed() && !fenced && blames_topic(why.answer.code) && !calls_.stopping())
        return lose(kafka_error(why.answer.code), why.text + "; " + end.text);
    if (end.failed())
        return lose(end, remedy_of(end.answer) == remedy::resume);
    if (calls_.stopping())
        return lose(asio::error::operation_aborted, {});
    // A late second abort would end the next transaction. It would abort the records that are in
    // that transaction by then, while the mark, which follows later, would be committed.
    if (calls_.was_disturbed() || clock::now() - began > smooth_abort)
        return lose(errc::uncertain, why.text + "; its end may have been asked for twice");
    calls_.book().judge();
    transaction_outcome outcome;
    outcome.type = transaction_outcome::kind::again;
    outcome.code = kafka_error(why.answer.code);
    outcome.text = std::move(why.text);
    if (!calls_.book().away().empty())
        outcome.code = kafka_error(calls_.book().away().begin()->second);
    name_guilty(outcome);
    return outcome;
}

}  // namespace mortise::kafka::detail
