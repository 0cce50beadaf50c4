// SPDX-License-Identifier: BSL-1.0
#include "db/postgres_core.hpp"

#include "db/postgres_run.hpp"
#include "mortise/detail/defaults.hpp"
#include "mortise/detail/require.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <chrono>
#include <utility>
#include <vector>

namespace mortise::db::detail {
namespace {

using std::chrono::milliseconds;

void require_limits(const postgres_config& config) {
    using mortise::detail::require;
    constexpr milliseconds day = std::chrono::hours(24);
    constexpr std::size_t connections_max = 1'000;
    const auto within = [](milliseconds least, milliseconds value, milliseconds most) {
        return value >= least && value <= most;
    };
    const auto has_zero = [](const std::string& text) {
        return text.find('\0') != std::string::npos;
    };
    require(!config.servers.empty(), "servers", "name at least one server");
    for (const auto& each : config.servers) {
        const bool named = !each.host.empty() && each.port != 0 && !has_zero(each.host) &&
                           each.host.find(',') == std::string::npos;
        require(named, "servers", "give each a host and a port");
    }
    for (const auto* const each :
         {&config.database, &config.user, &config.password, &config.application_name})
        require(!has_zero(*each), "database, user, password", "use no zero byte");
    require(
        config.connections_max >= 1 && config.connections_max <= connections_max,
        "connections_max",
        "use 1 to 1,000"
    );
    require(within(milliseconds(1), config.connect_max, day), "connect_max", "use 1 ms to one day");
    require(within(milliseconds(1), config.cancel_max, day), "cancel_max", "use 1 ms to one day");
    require(within(milliseconds(0), config.wait_max, day), "wait_max", "use up to one day");
    require(within(milliseconds(0), config.check_after, day), "check_after", "use up to one day");
    require(
        within(milliseconds(1), config.lifetime_max, day * 365),
        "lifetime_max",
        "use 1 ms to one year"
    );
    require(
        within(std::chrono::seconds(1), config.unacknowledged_max, day),
        "unacknowledged_max",
        "use one second to one day"
    );
}

const postgres_config& checked(const postgres_config& config) {
    require_limits(config);
    return config;
}

}  // namespace

postgres_core::postgres_core(asio::any_io_executor executor, postgres_config config)
    : background_core(std::move(executor)),
      settings_(std::make_shared<const postgres_config>(checked(config))),
      time_(mortise::detail::time_or_real(settings_->time, this->executor())),
      seed_(mortise::detail::seed_or_random(settings_->jitter_seed)) {
    // A connection that outlives the session for a moment is closed then, and cancels nothing.
    pool_ = std::make_shared<postgres_pool>(
        strand(),
        settings_,
        time_,
        [this](std::function<void()> job, std::function<void()> then) {
            run_beside(std::move(job), std::move(then));
        }
    );
}

postgres_core::~postgres_core() {
    if (pool_)
        pool_->drop();
}

// Each request waits for the server to close its connection, which a stopped server never does: the
// thread is then left behind, and takes no more.
void postgres_core::run_beside(std::function<void()> job, std::function<void()> then) {
    ++counts.cancelled;
    if (!helper_) {
        coro::worker_config settings;
        settings.name = "mortise-cancel";
        settings.grace = milliseconds(0);
        helper_.emplace(executor(), std::move(settings));
    }
    helper_->async_run(
        std::move(job),
        asio::bind_executor(strand(), [then = std::move(then)](error_code) { then(); })
    );
}

void postgres_core::begin(std::shared_ptr<postgres_run> run) {
    if (deserted())
        return;
    asio::dispatch(strand(), [self = shared_from_this(), run = std::move(run)] {
        if (self->stopping_)
            return run->refuse();
        self->runs_.insert(run);
        run->begin();
        self->note_sizes();
    });
}

void postgres_core::ended(const std::shared_ptr<postgres_run>& run) {
    runs_.erase(run);
    note_sizes();
    end_if_idle();
}

void postgres_core::begin_stop(bool at_once) {
    if (!std::exchange(stopping_, true)) {
        pool_->stop([weak = weak_from_this()] {
            if (const auto self = weak.lock()) {
                self->closed_ = true;
                self->note_sizes();
                self->end_if_idle();
            }
        });
    }
    if (at_once)
        pool_->close_all({errc::store_unavailable, "the session was destroyed"});
    end_if_idle();
}

void postgres_core::end_if_idle() {
    if (stopping_ && closed_ && runs_.empty())
        answer_stoppers();
}

void postgres_core::drop() noexcept {
    const auto runs = std::exchange(runs_, {});
    pool_->drop();
    for (const auto& each : runs)
        each->drop();
}

void postgres_core::note_sizes() noexcept {
    connections_ = pool_->connections();
    waiting_ = pool_->waiting();
    opened_ = pool_->opened();
    failed_ = pool_->failed();
}

postgres_stats postgres_core::stats() const noexcept {
    postgres_stats now;
    now.connections_opened = opened_;
    now.connections_failed = failed_;
    now.committed = counts.committed;
    now.rolled_back = counts.rolled_back;
    now.repeated = counts.repeated;
    now.commits_unknown = counts.commits_unknown;
    now.cancelled = counts.cancelled;
    now.connections = connections_;
    now.waiting = waiting_;
    return now;
}

}  // namespace mortise::db::detail
