// SPDX-License-Identifier: BSL-1.0
#include "mortise/lock_client.hpp"

#include "client/client_core.hpp"
#include "mortise/coro/assert.hpp"

#include <utility>

namespace mortise {

lock_client::lock_client(
    executor_type executor, std::unique_ptr<store> impl, client_config config
) {
    MORTISE_ASSERT(executor);
    if (!impl)
        throw error(errc::bad_config, "store = nullptr", "give it what open_store() returns");
    core_ = std::make_shared<detail::client_core>(
        std::move(executor), std::move(impl), std::move(config)
    );
    core_->attach();
}

lock_client::lock_client(lock_client&&) noexcept = default;

lock_client& lock_client::operator=(lock_client&& other) noexcept {
    if (this != &other) {
        if (core_)
            core_->close();
        core_ = std::move(other.core_);
    }
    return *this;
}

lock_client::~lock_client() {
    if (core_)
        core_->close();
}

lock_client::executor_type lock_client::get_executor() const noexcept {
    return core_->context.executor();
}

client_stats lock_client::stats() const noexcept {
    return core_->context.count.read();
}

store_traits lock_client::traits() const noexcept {
    return core_->context.traits();
}

std::string lock_client::explain() const {
    return core_->explain();
}

namespace detail {

void start_acquire(
    coro::detail::completion<void(error_code, lease)> handler,
    core_ptr core,
    std::string name,
    lock_options options
) {
    core->locals.acquire(std::move(name), options, true, std::move(handler));
}

void start_try_acquire(
    coro::detail::completion<void(error_code, std::optional<lease>)> handler,
    core_ptr core,
    std::string name,
    lock_options options
) {
    core->locals.acquire(std::move(name), options, false, std::move(handler));
}

void start_list(
    coro::detail::completion<void(error_code, std::vector<lock_view>)> handler,
    core_ptr core,
    std::string after,
    std::size_t limit,
    std::size_t queue_max
) {
    core->questions.list(std::move(after), limit, queue_max, std::move(handler));
}

void start_inspect(
    coro::detail::completion<void(error_code, std::optional<lock_view>)> handler,
    core_ptr core,
    std::string name,
    std::size_t queue_max
) {
    core->questions.inspect(std::move(name), queue_max, std::move(handler));
}

void start_break(
    coro::detail::completion<void(error_code, bool)> handler,
    core_ptr core,
    std::string name,
    fencing_token token,
    std::string why
) {
    core->questions.break_lock(std::move(name), token, std::move(why), std::move(handler));
}

void start_breaks(
    coro::detail::completion<void(error_code, std::vector<break_record>)> handler,
    core_ptr core,
    std::string name,
    std::size_t limit
) {
    core->questions.breaks(std::move(name), limit, std::move(handler));
}

void start_break_holders(
    coro::detail::completion<void(error_code, bool)> handler,
    core_ptr core,
    std::string name,
    std::string why
) {
    core->questions.break_holders(std::move(name), std::move(why), std::move(handler));
}

void start_is_locked(
    coro::detail::completion<void(error_code, bool)> handler, core_ptr core, std::string name
) {
    core->questions.is_locked(std::move(name), std::move(handler));
}

void start_time_left(
    coro::detail::completion<void(error_code, std::optional<clock::duration>)> handler,
    core_ptr core,
    std::string name
) {
    core->questions.time_left(std::move(name), std::move(handler));
}

void start_watch(coro::detail::completion<void(error_code)> handler, core_ptr core) {
    core->questions.watch(std::move(handler));
}

void start_examine(
    coro::detail::completion<void(error_code, std::vector<store_finding>)> handler, core_ptr core
) {
    core->questions.examine(std::move(handler));
}

void start_stop(coro::detail::completion<void(error_code)> handler, core_ptr core) {
    core->stop(std::move(handler));
}

}  // namespace detail
}  // namespace mortise
