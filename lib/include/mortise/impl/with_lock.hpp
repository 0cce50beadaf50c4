// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_IMPL_WITH_LOCK_HPP
#define MORTISE_IMPL_WITH_LOCK_HPP

#include "mortise/coro/detail/initiate.hpp"
#include "mortise/with_lock.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <memory>
#include <optional>

namespace mortise {
namespace detail {

template <class T>
struct kept_value {
    std::optional<T> value;

    T take() { return std::move(*value); }
};

template <>
struct kept_value<void> {
    void take() {}
};

template <class Held, class T, class Body>
class typed_body final : public guarded_body<Held> {
public:
    explicit typed_body(Body body) : body_(std::move(body)) {}

    void start(
        const Held& held,
        const asio::any_io_executor& executor,
        asio::cancellation_slot slot,
        typename guarded_body<Held>::done_function done
    ) override {
        asio::co_spawn(
            executor,
            run(held),
            asio::bind_cancellation_slot(slot, asio::bind_executor(executor, std::move(done)))
        );
    }

    T take() { return kept_.take(); }

private:
    asio::awaitable<void> run(const Held& held) {
        if constexpr (std::is_void_v<T>) {
            co_await body_(held);
        } else {
            kept_.value.emplace(co_await body_(held));
        }
    }

    Body body_;
    kept_value<T> kept_;
};

template <class Start, class Name, class Held, class T, class Body>
asio::awaitable<T> run_with_lock(
    Start start,
    lock_client& client,
    Name name,
    lock_options options,
    std::shared_ptr<typed_body<Held, T, Body>> body
) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    auto run = coro::detail::async_start<void(std::exception_ptr)>(
        executor, asio::deferred, start, executor, &client, std::move(name), options, body
    );
    co_await std::move(run);
    co_return body->take();
}

template <class Held, class Body>
auto make_typed_body(Body&& body) {
    using returned = std::invoke_result_t<Body&, const Held&>;
    coro::detail::refuse_owning_temporary<Body, returned>();
    using result = typename returned::value_type;
    using kept = typed_body<Held, result, std::decay_t<Body>>;
    return std::make_shared<kept>(std::forward<Body>(body));
}

}  // namespace detail

template <class Body>
    requires std::invocable<Body&, const lease&>
auto with_lock(lock_client& client, std::string name, lock_options options, Body&& body)
    -> std::invoke_result_t<Body&, const lease&> {
    return detail::run_with_lock(
        &detail::start_guarded_run,
        client,
        std::move(name),
        options,
        detail::make_typed_body<lease>(std::forward<Body>(body))
    );
}

template <class Body>
    requires std::invocable<Body&, const lease_set&>
auto with_lock(
    lock_client& client, std::vector<std::string> names, lock_options options, Body&& body
) -> std::invoke_result_t<Body&, const lease_set&> {
    return detail::run_with_lock(
        &detail::start_guarded_run_of_all,
        client,
        std::move(names),
        options,
        detail::make_typed_body<lease_set>(std::forward<Body>(body))
    );
}

}  // namespace mortise

#endif
