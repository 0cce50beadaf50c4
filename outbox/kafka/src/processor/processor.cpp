// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/processor.hpp"

#include "consumer/group_consumer.hpp"
#include "consumer/group_position.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/detail/worker_job.hpp"
#include "mortise/coro/error.hpp"
#include "mortise/kafka/processor_config.hpp"
#include "mortise/kafka/transactional_producer.hpp"
#include "processor/made_batch.hpp"
#include "settings.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::kafka {
namespace detail {
namespace {

using coro::detail::with_code;
processor_config checked(processor_config config) {
    if (config.handler == nullptr)
        refuse_setting("handler", "say what is to be made of a record");
    if (config.transactional_id.empty() || config.transactional_id.size() > 249)
        refuse_setting("transactional_id", "give the processor an id of 1 to 249 bytes");
    if (config.attempts_max < 1 || config.attempts_max > 1'000'000)
        refuse_setting("attempts_max", "use 1 to 1,000,000");
    if (config.dead_letter_topic.size() > 249)
        refuse_setting("dead_letter_topic", "name a topic of 1 to 249 bytes, or none");
    make_settings(config.cluster, purpose::producing, config.transactional_id);
    return config;
}

}  // namespace

/// A consumer that calls a handler and commits the results in a transaction.
class processor_core final : public group_consumer {
public:
    processor_core(asio::any_io_executor executor, const processor_config& config);

private:
    asio::awaitable<error_code> find(std::vector<start_offset>& starts, std::string& why) override;
    void work(const records& batch) override;
    bool is_final(error_code code) const override;
    asio::awaitable<void> finish() override;

    asio::awaitable<error_code> prepare(std::string& why);
    asio::awaitable<void> process(const records& batch);
    asio::awaitable<bool> make_all(const records& batch, made_batch& into);
    asio::awaitable<bool> make(const consumed_record& source, made_batch& into);
    asio::awaitable<error_code>
    try_once(const consumed_record& source, std::vector<record>& into, std::string& why);
    asio::awaitable<transaction_outcome> commit(const made_batch& products);
    void conclude(const transaction_outcome& outcome, const made_batch& products);

    const processor_config config_;
    std::unique_ptr<transactional_producer> producer_;  ///< Ready, if there is one.
    bool wary_ = false;  ///< The last producer was lost over an unknown topic.
};

processor_core::processor_core(asio::any_io_executor executor, const processor_config& config)
    : group_consumer(std::move(executor), config, std::chrono::milliseconds(0)),
      config_(checked(config)) {}

// Creates the producer. A missing certificate or a failed thread may be temporary, so it is tried
// again.
asio::awaitable<error_code> processor_core::prepare(std::string& why) {
    if (producer_)
        co_return error_code();
    error_code wrong;
    try {
        producer_ = std::make_unique<transactional_producer>(
            executor(), config_.cluster, config_.transactional_id
        );
        const auto prepared = co_await producer_->async_init(with_code);
        wrong = std::get<0>(prepared);
        if (wrong)
            why = producer_->trouble();
    } catch (const std::exception& failed) {
        wrong = coro::detail::code_of_current_exception();
        why = failed.what();
    }
    if (wrong)
        producer_.reset();
    co_return wrong;
}

// Settles an earlier transaction before it reads how far that one came.
asio::awaitable<error_code>
processor_core::find(std::vector<start_offset>& starts, std::string& why) {
    if (const error_code unready = co_await prepare(why))
        co_return unready;
    std::vector<topic_partition> asked;
    for (const start_offset& each : starts)
        asked.push_back(each.of);
    auto look = [from = member(), asked = std::move(asked)] { return from->committed(asked); };
    auto found = co_await thread().async_run(std::move(look), with_code);
    if (const error_code wrong = std::get<0>(found))
        co_return wrong;
    starts = std::move(std::get<1>(found));
    // Refuse partitions without an offset: if the offsets expired, all records would be made again.
    if (config_.cluster.settings.contains("auto.offset.reset"))
        co_return error_code();
    for (start_offset& each : starts) {
        each.barred = !each.wanted;
        if (each.barred)
            each.fault = make_error_code(errc::no_offset);
    }
    co_return error_code();
}

bool processor_core::is_final(error_code) const {
    return false;
}

asio::awaitable<void> processor_core::finish() {
    if (const auto last = std::move(producer_)) {
        co_await last->async_stop(with_code);
    }
}

void processor_core::work(const records& batch) {
    const auto ended = [self = shared_from_this()](const std::exception_ptr& failed) {
        if (failed)
            std::rethrow_exception(failed);  // The program lacks memory, or its observer threw.
    };
    asio::co_spawn(strand(), process(batch), ended);
}

asio::awaitable<void> processor_core::process(const records& batch) {
    std::string why;
    if (const error_code unready = co_await prepare(why))
        co_return work_failed(unready, "the producer", why);
    made_batch products(config_.dead_letter_topic);
    if (!co_await make_all(batch, products))
        co_return work_dropped();
    for (;;) {
        const transaction_outcome outcome = co_await commit(products);
        const bool refused = outcome.type == transaction_outcome::kind::refused && !outcome.renew;
        if (!refused || !products.refuse(outcome.refused))
            co_return conclude(outcome, products);
        if (hurry())
            co_return work_dropped();
    }
}

// Makes the records of a batch. @return whether it reached the end.
asio::awaitable<bool> processor_core::make_all(const records& batch, made_batch& into) {
    for (const consumed_record& each : batch) {
        if (into.stopped_before(each))
            continue;
        if (!co_await make(each, into))
            co_return false;
    }
    MORTISE_CRASH_POINT("processor.made");
    co_return true;
}

// Makes the records of one record. @return whether the batch goes on.
asio::awaitable<bool> processor_core::make(const consumed_record& source, made_batch& into) {
    const coro::backoff_options limits{config_.retry_first, config_.retry_max};
    coro::backoff pauses(limits, draw_seed());
    for (std::uint32_t attempt = 1;; ++attempt) {
        if (hurry())
            co_return false;
        std::vector<record> some;
        std::string why;
        const error_code wrong = co_await try_once(source, some, why);
        if (!wrong) {
            into.add(source, std::move(some));
            co_return true;
        }
        if (attempt >= config_.attempts_max) {
            into.give_up(source, wrong, std::move(why));
            co_return true;
        }
        tell(kind::failed, source.from, wrong, why, source.offset);
        co_await pause(pauses.next());
    }
}

asio::awaitable<error_code> processor_core::try_once(
    const consumed_record& source, std::vector<record>& into, std::string& why
) {
    try {
        into = co_await config_.handler(source);
        co_return error_code();
    } catch (const boost::system::system_error& wrong) {
        why = wrong.what();
        co_return wrong.code() ? wrong.code() : error_code(coro::errc::work_threw);
    } catch (const std::exception& wrong) {
        why = wrong.what();
    } catch (...) {
        why = "an exception of an unknown type";
    }
    co_return error_code(coro::errc::work_threw);
}

asio::awaitable<transaction_outcome> processor_core::commit(const made_batch& products) {
    std::vector<group_offset> offsets;
    for (const auto& [partition, last] : products.dealt_with()) {
        group_offset& one = offsets.emplace_back();
        one.of = partition;
        one.next = next_after(partition, last + 1);
    }
    transaction_batch batch;
    batch.records = products.records();
    batch.wary = wary_;
    if (!offsets.empty())
        batch.consumed = std::make_shared<group_position>(member(), std::move(offsets));
    auto reply = co_await producer_->async_transaction(std::move(batch), with_code);
    transaction_outcome outcome = std::move(std::get<1>(reply));
    if (std::get<0>(reply))
        outcome.code = std::get<0>(reply);  // It did not begin; the outcome is `lost`.
    co_return outcome;
}

void processor_core::conclude(const transaction_outcome& outcome, const made_batch& products) {
    using ending = transaction_outcome::kind;
    for (const std::string& each : outcome.notices)
        tell(kind::noticed, {}, {}, each);
    if (outcome.type == ending::lost || outcome.renew)
        producer_.reset();
    if (outcome.type == ending::committed) {
        wary_ = false;
        for (const auto& [of, code, why] : products.dead_letters())
            tell(kind::dead_letter, of->from, code, why, of->offset);
        for (const auto& [partition, stop] : products.stops())
            refuse(partition, stop.code, stop.why);
        return worked();
    }
    if (outcome.type == ending::lost) {
        wary_ =
            outcome.code == condition::not_authorized || outcome.code == condition::unknown_topic;
        return work_lost(outcome.code, "the transaction");
    }
    work_failed(outcome.code, "the transaction");
}

}  // namespace detail

processor::processor(executor_type executor, const processor_config& config)
    : core_(std::make_shared<detail::processor_core>(std::move(executor), config)) {
    core_->attach();
}

processor::~processor() {
    if (core_)
        core_->close();
}

processor::processor(processor&&) noexcept = default;

processor& processor::operator=(processor&& other) noexcept {
    if (const auto before = std::exchange(core_, std::move(other.core_)))
        before->close();
    return *this;
}

processor::executor_type processor::get_executor() const noexcept {
    MORTISE_ASSERT(core_);
    return core_->executor();
}

}  // namespace mortise::kafka
