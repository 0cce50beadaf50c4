// SPDX-License-Identifier: BSL-1.0
#include "mortise/kafka/kafka_sink.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/kafka/cluster.hpp"
#include "mortise/kafka/transactional_producer.hpp"
#include "settings.hpp"
#include "sink/sink_records.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace mortise::kafka {
namespace {

using asio::awaitable;
using coro::detail::with_code;
/// An answer expected from a producer or a cluster. It may come after nobody waits any longer.
template <class Value>
struct pending {
    explicit pending(const asio::any_io_executor& on) : arrival(on) {}
    coro::event arrival;
    error_code ec;
    Value value{};
};
struct nothing {};

/// Makes the handler that stores the answer.
template <class Value>
auto storing_in(const std::shared_ptr<pending<Value>>& reply) {
    return [reply](error_code ec, Value value) {
        reply->ec = ec;
        reply->value = std::move(value);
        reply->arrival.set();
    };
}

class kafka_sink final : public outbox::sink {
public:
    kafka_sink(asio::any_io_executor strand, std::shared_ptr<const kafka_sink_config> config)
        : strand_(std::move(strand)), config_(std::move(config)) {}

    bool keeps_marks() const noexcept override { return true; }

    // Brokers forget a transactional id after a week without use.
    std::chrono::milliseconds idle_max() const noexcept override { return std::chrono::hours(1); }

    awaitable<result<outbox::opening>> open(const outbox::shard_name& shard) override;
    awaitable<outbox::published>
    publish(std::span<outbox::outgoing> messages, const outbox::mark& after) override;
    awaitable<result<bool>> has_topic(const std::string& topic) override;
    awaitable<void> close() override;
    std::string trouble() const override { return trouble_; }

private:
    awaitable<error_code> prepare();
    awaitable<error_code> take_over(const outbox::shard_name& shard);
    awaitable<result<std::optional<found_record>>> find(const outbox::shard_name& shard);

    template <class Value>
    awaitable<void> until_answered(std::shared_ptr<pending<Value>> reply);
    /// While opening: returns `failed`, or `operation_aborted` after a signal, even if the answer
    /// came first.
    error_code unless_ended(error_code failed) const;

    const asio::any_io_executor strand_;
    const std::shared_ptr<const kafka_sink_config> config_;
    std::unique_ptr<cluster> cluster_;
    std::unique_ptr<transactional_producer> producer_;
    std::string cluster_id_;
    std::string trouble_;  ///< Why `open` failed, for people.
    std::string mark_;     ///< The text of the last mark at the sink; empty: none.
    bool wary_ = false;    ///< The last producer was lost over an unknown topic.
    bool stale_ = false;   ///< The producer should not be used again.
};

// Waits for the answer. A signal stops the producer and the cluster, which then answer soon.
template <class Value>
awaitable<void> kafka_sink::until_answered(std::shared_ptr<pending<Value>> reply) {
    const auto waited = co_await reply->arrival.async_wait(with_code);
    if (!std::get<0>(waited))
        co_return;
    if (producer_)
        producer_->stop();
    if (cluster_)
        cluster_->stop();
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await reply->arrival.async_wait(with_code);
    cluster_.reset();
}

error_code kafka_sink::unless_ended(error_code failed) const {
    return failed || cluster_ ? failed : error_code(asio::error::operation_aborted);
}

// Finds the id of the cluster and ensures that the progress topic exists.
awaitable<error_code> kafka_sink::prepare() {
    if (!cluster_)
        cluster_ = std::make_unique<cluster>(strand_, config_->cluster);
    const auto id = std::make_shared<pending<std::string>>(strand_);
    cluster_->async_id(storing_in(id));
    co_await until_answered(id);
    cluster_id_ = id->value;
    const error_code failed = unless_ended(id->ec);
    if (failed || !config_->make_progress_topic)
        co_return failed;
    topic_wish topic(config_->progress_topic, config_->progress_partitions);
    topic.replicas = config_->progress_replicas;
    topic.compacted = true;
    const auto topic_made = std::make_shared<pending<bool>>(strand_);
    cluster_->async_ensure_topic(std::move(topic), storing_in(topic_made));
    co_await until_answered(topic_made);
    co_return unless_ended(topic_made->ec);
}

awaitable<error_code> kafka_sink::take_over(const outbox::shard_name& shard) {
    producer_ = std::make_unique<transactional_producer>(
        strand_, config_->cluster, detail::transactional_id(*config_, shard)
    );
    stale_ = false;
    const auto reply = std::make_shared<pending<nothing>>(strand_);
    producer_->async_init([reply](error_code ec) {
        reply->ec = ec;
        reply->arrival.set();
    });
    co_await until_answered(reply);
    co_return unless_ended(reply->ec);
}

// Looks for the mark from its last known place, then from the start: a topic that was made anew has
// it elsewhere, or not at all.
awaitable<result<std::optional<found_record>>> kafka_sink::find(const outbox::shard_name& shard) {
    const std::int32_t partition = detail::mark_partition(*config_, shard.shard);
    const auto sought = detail::parse_place(shard.first_sought);
    const std::int64_t from = sought && sought->partition == partition ? sought->offset : 0;
    const std::string key = detail::mark_key(shard.table, shard.shard);
    for (const std::int64_t each : {from, std::int64_t{0}}) {
        const auto reply = std::make_shared<pending<std::optional<found_record>>>(strand_);
        cluster_->async_last_record(
            config_->progress_topic, partition, key, each, storing_in(reply)
        );
        co_await until_answered(reply);
        const error_code failed = unless_ended(reply->ec);
        if (failed && (failed != errc::offset_gone || each == 0 || !cluster_))
            co_return failed;
        if (!failed && (reply->value || each == 0))
            co_return std::move(reply->value);
    }
    co_return error_code(errc::offset_gone);
}

// Fences the earlier producer before it reads the mark: only then is the mark final.
awaitable<result<outbox::opening>> kafka_sink::open(const outbox::shard_name& shard) {
    producer_.reset();
    trouble_.clear();
    if (const error_code failed = co_await prepare()) {
        trouble_ = cluster_ ? cluster_->trouble() : std::string();
        co_return failed;
    }
    if (const error_code failed = co_await take_over(shard)) {
        trouble_ = producer_->trouble();
        producer_.reset();
        co_return failed;
    }
    const auto found = co_await find(shard);
    if (!found) {
        trouble_ = cluster_ ? cluster_->trouble() : std::string();
        co_return found.error();
    }
    outbox::opening result;
    result.identity = detail::sink_identity(*config_, cluster_id_);
    result.older_identity = detail::older_sink_identity(*config_, cluster_id_);
    mark_.clear();
    if (MORTISE_PLANTED_NAME("mark_not_read"))
        co_return result;
    if (*found && (*found)->value) {
        mark_ = *(*found)->value;
        result.last = outbox::mark::parse(mark_);
        if (!result.last) {
            result.unreadable = make_error_code(errc::not_a_mark);
            result.unreadable_text = detail::place_text((*found)->at) + " of " +
                                     config_->progress_topic + " has: " + mark_.substr(0, 100);
            mark_.clear();
        }
    }
    co_return result;
}

awaitable<outbox::published>
kafka_sink::publish(std::span<outbox::outgoing> messages, const outbox::mark& after) {
    if (!producer_ || stale_)
        co_return outbox::published(
            outbox::published::kind::lost, error_code(errc::lost), "a new producer goes on"
        );
    transaction_batch batch = detail::batch_of(*config_, messages, after, mark_);
    batch.wary = wary_;
    const auto reply = std::make_shared<pending<transaction_outcome>>(strand_);
    producer_->async_transaction(std::move(batch), storing_in(reply));
    co_await until_answered(reply);
    transaction_outcome& outcome = reply->value;
    if (reply->ec)
        outcome.code = reply->ec;  // The transaction did not begin, and its outcome is `lost`.
    using kind = transaction_outcome::kind;
    stale_ = outcome.renew;
    if (outcome.type == kind::committed) {
        wary_ = false;
        mark_ = after.text();
    } else if (outcome.type == kind::lost) {
        wary_ =
            outcome.code == condition::not_authorized || outcome.code == condition::unknown_topic;
    }
    co_return detail::published_by(std::move(outcome), messages.size());
}

awaitable<result<bool>> kafka_sink::has_topic(const std::string& topic) {
    if (!cluster_)
        co_return error_code(errc::lost);
    const auto reply = std::make_shared<pending<int>>(strand_);
    cluster_->async_partitions(topic, storing_in(reply));
    co_await until_answered(reply);
    if (const error_code failed = unless_ended(reply->ec))
        co_return failed;
    co_return reply->value > 0;
}

awaitable<void> kafka_sink::close() {
    producer_.reset();
    cluster_.reset();
    co_return;
}

void check_sink(const kafka_sink_config& config) {
    if (config.progress_topic.empty() || config.progress_topic.size() > 249)
        detail::refuse_setting("progress_topic", "name a topic of 1 to 249 bytes");
    if (config.progress_partitions < 1 || config.progress_partitions > 100'000)
        detail::refuse_setting("progress_partitions", "use 1 to 100,000");
    if (config.progress_replicas == 0 || config.progress_replicas < -1 ||
        config.progress_replicas > 1'000)
        detail::refuse_setting(
            "progress_replicas", "use 1 to 1,000, or -1 for what the brokers have"
        );
    if (config.id_prefix.empty() || config.id_prefix.size() > 100)
        detail::refuse_setting("id_prefix", "use 1 to 100 bytes");
    const auto partitioner = config.cluster.settings.find("partitioner");
    if (partitioner != config.cluster.settings.end() && partitioner->second == "random")
        detail::refuse_setting(
            "partitioner", "use one that goes by the key: messages of a key have an order"
        );
    detail::make_settings(config.cluster, detail::purpose::producing, "check");
}

}  // namespace

outbox::sink_factory make_kafka_sink(kafka_sink_config config) {
    check_sink(config);
    const auto shared = std::make_shared<const kafka_sink_config>(std::move(config));
    return [shared](asio::any_io_executor strand, std::uint32_t) {
        return std::make_unique<kafka_sink>(std::move(strand), shared);
    };
}

}  // namespace mortise::kafka
