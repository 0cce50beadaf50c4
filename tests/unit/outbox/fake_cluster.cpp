// SPDX-License-Identifier: BSL-1.0
#include "unit/outbox/fake_cluster.hpp"

#include "mortise/coro/event.hpp"
#include "mortise/outbox/error.hpp"

#include <memory>
#include <utility>

namespace mortise::test {

using outbox::published;

class fake_sink final : public outbox::sink {
public:
    fake_sink(fake_cluster& at, asio::any_io_executor strand)
        : at_(at), never_(std::move(strand)) {}

    bool keeps_marks() const noexcept override { return true; }
    std::chrono::milliseconds idle_max() const noexcept override { return at_.idle_max_; }

    asio::awaitable<result<outbox::opening>> open(const outbox::shard_name& name) override {
        const std::lock_guard hold(at_.mutex_);
        ++at_.opened_;
        if (at_.take_fault(true))
            co_return error_code(asio::error::connection_refused);
        shard_ = name.shard;
        auto& mine = at_.shards_[shard_];
        epoch_ = ++mine.epoch;
        outbox::opening result;
        result.identity = at_.identity_;
        if (mine.spoiled) {
            result.unreadable = outbox::errc::bad_file;
            result.unreadable_text = "nonsense";
        } else {
            result.last = mine.last;
        }
        co_return result;
    }

    asio::awaitable<published>
    publish(std::span<outbox::outgoing> messages, const outbox::mark& after) override {
        auto outcome = publish_now(messages, after);
        for (auto& each : messages)
            each.message = outbox::message();  // as a sink may, whatever came of it
        if (!outcome) {
            auto waiting = never_.async_wait();
            co_await std::move(waiting);
        }
        co_return std::move(*outcome);
    }

    asio::awaitable<result<bool>> has_topic(const std::string& topic) override {
        const std::lock_guard hold(at_.mutex_);
        ++at_.asked_;
        co_return !at_.away_.contains(topic);
    }

    asio::awaitable<void> close() override { co_return; }

private:
    std::optional<published>
    publish_now(std::span<outbox::outgoing> messages, const outbox::mark& after) {
        const std::lock_guard hold(at_.mutex_);
        auto& mine = at_.shards_[shard_];
        if (mine.epoch != epoch_)
            return lost();
        const auto fault = at_.take_fault(false);
        if (fault == fake_cluster::fault::again || messages.size() > at_.batch_max_)
            return published(published::kind::again, asio::error::try_again, "not now");
        if (fault == fake_cluster::fault::lost_before)
            return lost();
        if (fault == fake_cluster::fault::hang)
            return std::nullopt;
        published outcome(published::kind::refused);
        for (std::size_t i = 0; i < messages.size(); ++i) {
            if (at_.refused_ && messages[i].message.payload == at_.refused_)
                outcome.poison.emplace_back(i, outbox::errc::refused, "no");
            else if (at_.away_.contains(messages[i].message.topic))
                outcome.poison.emplace_back(i, outbox::errc::refused, "no such topic", true);
        }
        if (!outcome.poison.empty())
            return outcome;
        at_.messages_.insert(at_.messages_.end(), messages.begin(), messages.end());
        at_.batches_ += messages.empty() ? 0u : 1u;
        mine.last = after;
        mine.spoiled = false;
        if (fault == fake_cluster::fault::lost_after)
            return lost();
        return published();
    }

    static published lost() {
        return published(published::kind::lost, asio::error::connection_reset, "nobody knows");
    }

    fake_cluster& at_;
    coro::event never_;
    std::uint32_t shard_ = 0;
    std::uint64_t epoch_ = 0;
};

outbox::sink_factory fake_cluster::factory() {
    return [this](asio::any_io_executor strand, std::uint32_t) {
        return std::make_unique<fake_sink>(*this, std::move(strand));
    };
}

std::optional<fake_cluster::fault> fake_cluster::take_fault(bool opening) {
    if (faults_.empty() || (faults_.front() == fault::cannot_open) != opening)
        return std::nullopt;
    const auto taken = faults_.front();
    faults_.pop_front();
    return taken;
}

void fake_cluster::fail_next(fault next) {
    const std::lock_guard hold(mutex_);
    faults_.push_back(next);
}

std::size_t fake_cluster::faults_left() const {
    const std::lock_guard hold(mutex_);
    return faults_.size();
}

void fake_cluster::refuse(std::optional<std::string> payload) {
    const std::lock_guard hold(mutex_);
    refused_ = std::move(payload);
}

void fake_cluster::set_away(const std::string& topic, bool away) {
    const std::lock_guard hold(mutex_);
    if (away)
        away_.insert(topic);
    else
        away_.erase(topic);
}

std::size_t fake_cluster::asked() const {
    const std::lock_guard hold(mutex_);
    return asked_;
}

void fake_cluster::set_batch_max(std::size_t messages) {
    const std::lock_guard hold(mutex_);
    batch_max_ = messages;
}

std::vector<outbox::outgoing> fake_cluster::messages() const {
    const std::lock_guard hold(mutex_);
    return messages_;
}

std::vector<std::string> fake_cluster::payloads() const {
    std::vector<std::string> found;
    for (const auto& each : messages())
        found.push_back(each.message.payload.value_or("(none)"));
    return found;
}

std::vector<std::string> fake_cluster::payloads_of(const std::string& key) const {
    std::vector<std::string> found;
    for (const auto& each : messages()) {
        if (each.message.key == key)
            found.push_back(each.message.payload.value_or("(none)"));
    }
    return found;
}

std::size_t fake_cluster::size() const {
    const std::lock_guard hold(mutex_);
    return messages_.size();
}

std::optional<outbox::mark> fake_cluster::mark_of(std::uint32_t shard) const {
    const std::lock_guard hold(mutex_);
    const auto found = shards_.find(shard);
    return found == shards_.end() ? std::nullopt : found->second.last;
}

std::size_t fake_cluster::batches() const {
    const std::lock_guard hold(mutex_);
    return batches_;
}

std::size_t fake_cluster::opened() const {
    const std::lock_guard hold(mutex_);
    return opened_;
}

void fake_cluster::forget_marks() {
    const std::lock_guard hold(mutex_);
    for (auto& [shard, each] : shards_)
        each.last.reset();
}

void fake_cluster::spoil_mark(std::uint32_t shard) {
    const std::lock_guard hold(mutex_);
    shards_[shard].spoiled = true;
}

void fake_cluster::set_identity(std::string id) {
    const std::lock_guard hold(mutex_);
    identity_ = std::move(id);
}

void fake_cluster::set_mark(std::uint32_t shard, const outbox::mark& to) {
    const std::lock_guard hold(mutex_);
    shards_[shard].last = to;
}

}  // namespace mortise::test
