// SPDX-License-Identifier: BSL-1.0
#include "conformance/detachable_store.hpp"

#include <utility>

namespace mortise::test {
namespace {

class detachable_store final : public store, private store_events {
public:
    detachable_store(std::unique_ptr<store> inner, cut_off cut)
        : inner_(std::move(inner)), cut_(std::move(cut)) {}

    store_traits traits() const noexcept override { return inner_->traits(); }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        events_ = &events;
        inner_->attach(std::move(strand), *this, std::move(time));
    }

    void detach() noexcept override { inner_->detach(); }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        if (*cut_)
            co_return errc::store_unavailable;
        co_return co_await inner_->resume(std::move(start));
    }

    asio::awaitable<error_code> end() override {
        if (*cut_)
            co_return errc::store_unavailable;
        co_return co_await inner_->end();
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        if (*cut_)
            co_return errc::store_unavailable;
        co_return co_await inner_->request(std::move(request));
    }

    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        if (*cut_)
            co_return errc::store_unavailable;
        co_return co_await inner_->withdraw(std::move(name), id);
    }

    asio::awaitable<result<bool>> release(grant held) override {
        if (*cut_)
            co_return errc::store_unavailable;
        co_return co_await inner_->release(std::move(held));
    }

    asio::awaitable<result<heartbeat>> beat() override {
        if (*cut_)
            co_return errc::store_unavailable;
        co_return co_await inner_->beat();
    }

    asio::awaitable<result<session_view>> look() override {
        if (*cut_)
            co_return errc::store_unavailable;
        co_return co_await inner_->look();
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        if (*cut_)
            co_return errc::store_unavailable;
        co_return co_await inner_->list(std::move(after), limit, queue_max);
    }

    asio::awaitable<result<bool>>
    break_(std::string name, fencing_token token, std::string why) override {
        if (*cut_)
            co_return errc::store_unavailable;
        co_return co_await inner_->break_(std::move(name), token, std::move(why));
    }

private:
    void on_store_event(const store_event& event) noexcept override {
        if (!*cut_)
            events_->on_store_event(event);
    }

    const std::unique_ptr<store> inner_;
    const cut_off cut_;
    store_events* events_ = nullptr;
};

}  // namespace

std::unique_ptr<store> make_detachable(std::unique_ptr<store> inner, cut_off cut) {
    return std::make_unique<detachable_store>(std::move(inner), std::move(cut));
}

}  // namespace mortise::test
