// SPDX-License-Identifier: BSL-1.0
#include "client/client_context.hpp"

#include "client/client_core.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/detail/real_time.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <chrono>
#include <exception>

namespace mortise::detail {
namespace {

std::string text_of(std::chrono::milliseconds value) {
    return std::to_string(value.count()) + " ms";
}

// Checks the configuration, also against the limits of the store.
client_config checked(client_config config, const store_traits& traits) {
    if (auto wrong = check_config(config))
        throw *wrong;
    if (config.ttl < traits.ttl_min) {
        throw error(
            errc::ttl_too_short,
            "ttl = " + text_of(config.ttl),
            "the " + std::string(traits.scheme) + " store keeps sessions for " +
                text_of(traits.ttl_min) + " or longer"
        );
    }
    if (config.ttl > traits.ttl_max) {
        throw error(
            errc::ttl_too_long,
            "ttl = " + text_of(config.ttl),
            "the " + std::string(traits.scheme) + " store keeps sessions for " +
                text_of(traits.ttl_max) + " at most"
        );
    }
    return config;
}

std::shared_ptr<coro::time_source>
time_of(const client_config& config, const asio::any_io_executor& executor) {
    return config.time ? config.time : mortise::detail::make_real_time(executor);
}

}  // namespace

client_context::client_context(
    asio::any_io_executor executor, std::unique_ptr<store> impl, client_config config
)
    : seat_(std::move(executor)),
      store_(std::move(impl)),
      known_traits_{store_->traits()},
      traits_(&known_traits_.front()),
      config_(checked(std::move(config), known_traits_.front())),
      time_(time_of(config_, seat_.executor())),
      timing_(core::session_timing::from(config_)),
      home_(std::make_shared<client_home>(time_)) {
    home_->executor = seat_.executor();
}

bool client_context::take(const std::shared_ptr<client_core>& owner, store_events& events) {
    home_->core = owner;
    store_->attach(strand(), events, time_);  // first: the end of the context detaches it
    return seat_.take(owner);
}

// The store keeps the strand, too, so it goes first.
void client_context::leave() noexcept {
    store_.reset();
    seat_.leave();
}

std::string client_context::explain_store() const {
    return store_ ? store_->explain() : std::string();
}

void client_context::read_traits() {
    const store_traits fresh = store_->traits();
    auto known = std::find(known_traits_.begin(), known_traits_.end(), fresh);
    if (known == known_traits_.end())
        known = known_traits_.insert_after(known_traits_.before_begin(), fresh);
    traits_.store(&*known, std::memory_order_release);
}

void client_context::tell(const lock_event& event) const noexcept {
    if (observed())
        config_.observer->on_event(event);
}

void client_context::tell(lock_event::kind kind, const held_grant& held, error_code code)
    const noexcept {
    tell({.type = kind, .name = held.name(), .token = held.token(), .code = code});
}

void client_context::spawn(asio::awaitable<void> task) const {
    asio::co_spawn(strand(), std::move(task), [](const std::exception_ptr& failure) {
        if (failure)
            std::rethrow_exception(failure);
    });
}

void client_context::clear_timers() {
    deadlines_.clear();
    alarm_.cancel();
}

// Ends: a task may set new timers, but each is in the future and so not due at `at`.
void client_context::run_timers(clock::time_point at) {
    while (const auto due = deadlines_.take_due(at))
        due();
}

void client_context::wake_at(clock::time_point when, void (client_core::*then)()) {
    if (when == clock::time_point::max() || (alarm_.is_set() && armed_for_ <= when))
        return;  // An earlier wake-up than needed costs less than setting the timer again.
    armed_for_ = when;
    alarm_.set(*time_, strand(), when, [weak = home_->core, then] {
        if (const auto core = weak.lock())
            (*core.*then)();
    });
}

clock::duration undo_pause(unsigned attempt) noexcept {
    return coro::backoff_bound(
        {std::chrono::milliseconds(20), std::chrono::seconds(1)}, attempt + 1
    );
}

}  // namespace mortise::detail
