// SPDX-License-Identifier: BSL-1.0
#include "relay/relay_context.hpp"

#include "mortise/detail/defaults.hpp"

namespace mortise::outbox::detail {

relay_context::relay_context(
    asio::any_io_executor executor, asio::any_io_executor strand, relay_config config
)
    : executor_(std::move(executor)),
      strand_(std::move(strand)),
      config_(std::move(config)),
      time_(mortise::detail::time_or_real(config_.time, executor_)),
      seed_(mortise::detail::seed_or_random(config_.jitter_seed)) {
    wake_.emplace(strand_);
    session();
}

std::shared_ptr<db::sqlite> relay_context::session() {
    if (session_ && session_->poisoned())
        log_->suspect();  // A new session would sync a log whose pages the kernel may have dropped.
    if (!session_ || session_->poisoned()) {
        db::sqlite_config config;
        config.path = config_.database;
        config.vfs = config_.vfs;
        session_ = std::make_shared<db::sqlite>(executor_, std::move(config));
    }
    return session_;
}

asio::awaitable<void> relay_context::restore_log() {
    const auto current = session();
    if (!log_->is_suspect())
        co_return;
    const auto work = [log = log_](db::connection& on) { log->write_anew(on); };
    co_await current->async_run(work, db::durability::force);
}

void relay_context::tell(const relay_event& event) {
    {
        const std::lock_guard hold(status_mutex_);
        switch (event.type) {
        case relay_event::kind::taken:
            ++counts_.taken;
            break;
        case relay_event::kind::failed:
            ++counts_.failures;
            break;
        case relay_event::kind::refused:
            ++counts_.refusals;
            break;
        case relay_event::kind::mark_lost:
            ++counts_.marks_lost;
            break;
        default:
            break;
        }
    }
    if (config_.observer)
        config_.observer(event);
}

void relay_context::show(const shard_status& now) {
    const std::lock_guard hold(status_mutex_);
    status_[now.shard] = now;
}

std::vector<shard_status> relay_context::status() const {
    const std::lock_guard hold(status_mutex_);
    std::vector<shard_status> all;
    for (const auto& [shard, each] : status_)
        all.push_back(each);
    return all;
}

relay_stats relay_context::stats() const {
    using state = shard_status::state;
    const std::lock_guard hold(status_mutex_);
    relay_stats totals = counts_;
    for (const auto& [shard, each] : status_) {
        totals.sent += each.messages;
        totals.batches += each.batches;
        totals.parked += each.parked;
        totals.purged += each.purged;
        totals.writes += each.writes;
        totals.held += each.at != state::standby && each.at != state::done ? 1u : 0u;
        totals.refused += each.at == state::refused ? 1u : 0u;
    }
    return totals;
}

void relay_context::look_for_shards() {
    look_ = true;
    wake();
}

void relay_context::due_at(std::optional<std::int64_t> when) {
    if (std::exchange(due_, when) != when)
        wake();
}

void relay_context::wake() {
    if (wake_)
        wake_->set();
}

}  // namespace mortise::outbox::detail
