// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_IMPL_LOCK_CLIENT_HPP
#define MORTISE_IMPL_LOCK_CLIENT_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/lock_client.hpp"

namespace mortise {
namespace detail {

using core_ptr = std::shared_ptr<client_core>;

void start_acquire(
    coro::detail::completion<void(error_code, lease)> handler,
    core_ptr core,
    std::string name,
    lock_options options
);
void start_try_acquire(
    coro::detail::completion<void(error_code, std::optional<lease>)> handler,
    core_ptr core,
    std::string name,
    lock_options options
);
void start_acquire_all(
    coro::detail::completion<void(error_code, lease_set)> handler,
    core_ptr core,
    std::vector<std::string> names,
    lock_options options
);
void start_list(
    coro::detail::completion<void(error_code, std::vector<lock_view>)> handler,
    core_ptr core,
    std::string after,
    std::size_t limit,
    std::size_t queue_max
);
void start_inspect(
    coro::detail::completion<void(error_code, std::optional<lock_view>)> handler,
    core_ptr core,
    std::string name,
    std::size_t queue_max
);
void start_break(
    coro::detail::completion<void(error_code, bool)> handler,
    core_ptr core,
    std::string name,
    fencing_token holder,
    std::string why
);
void start_break_holders(
    coro::detail::completion<void(error_code, bool)> handler,
    core_ptr core,
    std::string name,
    std::string why
);
void start_is_locked(
    coro::detail::completion<void(error_code, bool)> handler, core_ptr core, std::string name
);
void start_time_left(
    coro::detail::completion<void(error_code, std::optional<clock::duration>)> handler,
    core_ptr core,
    std::string name
);
void start_wait_changed(
    coro::detail::completion<void(error_code, std::optional<lock_view>)> handler,
    core_ptr core,
    std::string name,
    std::optional<lock_view> seen
);
void start_breaks(
    coro::detail::completion<void(error_code, std::vector<break_record>)> handler,
    core_ptr core,
    std::string name,
    std::size_t limit
);
void start_watch(coro::detail::completion<void(error_code)> handler, core_ptr core);
void start_examine(
    coro::detail::completion<void(error_code, std::vector<store_finding>)> handler, core_ptr core
);
void start_stop(coro::detail::completion<void(error_code)> handler, core_ptr core);

}  // namespace detail

template <class Token>
auto lock_client::async_acquire(std::string name, lock_options options, Token&& token) {
    return coro::detail::async_start<void(error_code, lease)>(
        get_executor(),
        std::forward<Token>(token),
        &detail::start_acquire,
        core_,
        std::move(name),
        options
    );
}

template <class Token>
auto lock_client::async_try_acquire(std::string name, lock_options options, Token&& token) {
    return coro::detail::async_start<void(error_code, std::optional<lease>)>(
        get_executor(),
        std::forward<Token>(token),
        &detail::start_try_acquire,
        core_,
        std::move(name),
        options
    );
}

template <class Token>
auto lock_client::async_acquire_all(
    std::vector<std::string> names, lock_options options, Token&& token
) {
    return coro::detail::async_start<void(error_code, lease_set)>(
        get_executor(),
        std::forward<Token>(token),
        &detail::start_acquire_all,
        core_,
        std::move(names),
        options
    );
}

template <class Token>
auto lock_client::async_list(
    std::string after, std::size_t limit, std::size_t queue_max, Token&& token
) {
    return coro::detail::async_start<void(error_code, std::vector<lock_view>)>(
        get_executor(),
        std::forward<Token>(token),
        &detail::start_list,
        core_,
        std::move(after),
        limit,
        queue_max
    );
}

template <class Token>
auto lock_client::async_inspect(std::string name, std::size_t queue_max, Token&& token) {
    return coro::detail::async_start<void(error_code, std::optional<lock_view>)>(
        get_executor(),
        std::forward<Token>(token),
        &detail::start_inspect,
        core_,
        std::move(name),
        queue_max
    );
}

template <class Token>
auto lock_client::async_break(
    std::string name, fencing_token holder, std::string why, Token&& token
) {
    return coro::detail::async_start<void(error_code, bool)>(
        get_executor(),
        std::forward<Token>(token),
        &detail::start_break,
        core_,
        std::move(name),
        holder,
        std::move(why)
    );
}

template <class Token>
auto lock_client::async_break_holders(std::string name, std::string why, Token&& token) {
    return coro::detail::async_start<void(error_code, bool)>(
        get_executor(),
        std::forward<Token>(token),
        &detail::start_break_holders,
        core_,
        std::move(name),
        std::move(why)
    );
}

template <class Token>
auto lock_client::async_is_locked(std::string name, Token&& token) {
    return coro::detail::async_start<void(error_code, bool)>(
        get_executor(), std::forward<Token>(token), &detail::start_is_locked, core_, std::move(name)
    );
}

template <class Token>
auto lock_client::async_time_left(std::string name, Token&& token) {
    return coro::detail::async_start<void(error_code, std::optional<clock::duration>)>(
        get_executor(), std::forward<Token>(token), &detail::start_time_left, core_, std::move(name)
    );
}

template <class Token>
auto lock_client::async_wait_changed(
    std::string name, std::optional<lock_view> seen, Token&& token
) {
    return coro::detail::async_start<void(error_code, std::optional<lock_view>)>(
        get_executor(),
        std::forward<Token>(token),
        &detail::start_wait_changed,
        core_,
        std::move(name),
        std::move(seen)
    );
}

template <class Token>
auto lock_client::async_breaks(std::string name, std::size_t limit, Token&& token) {
    return coro::detail::async_start<void(error_code, std::vector<break_record>)>(
        get_executor(),
        std::forward<Token>(token),
        &detail::start_breaks,
        core_,
        std::move(name),
        limit
    );
}

template <class Token>
auto lock_client::async_watch(Token&& token) {
    return coro::detail::async_start<void(error_code)>(
        get_executor(), std::forward<Token>(token), &detail::start_watch, core_
    );
}

template <class Token>
auto lock_client::async_examine(Token&& token) {
    return coro::detail::async_start<void(error_code, std::vector<store_finding>)>(
        get_executor(), std::forward<Token>(token), &detail::start_examine, core_
    );
}

template <class Token>
auto lock_client::async_stop(Token&& token) {
    return coro::detail::async_start<void(error_code)>(
        get_executor(), std::forward<Token>(token), &detail::start_stop, core_
    );
}

}  // namespace mortise

#endif
