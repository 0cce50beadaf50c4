// SPDX-License-Identifier: BSL-1.0
#include "conformance/detachable_store.hpp"

#include <string>
#include <utility>

namespace mortise::test {

bool faulty_line::loses_this_reply() {
    if (replies_to_lose == 0)
        return false;
    --replies_to_lose;
    return true;
}

namespace {

class detachable_store final : public store, private store_events {
public:
    detachable_store(std::unique_ptr<store> inner, std::shared_ptr<faulty_line> line)
        : inner_(std::move(inner)), line_(std::move(line)) {}

    store_traits traits() const noexcept override { return inner_->traits(); }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        events_ = &events;
        inner_->attach(std::move(strand), *this, std::move(time));
    }

    void detach() noexcept override { inner_->detach(); }

    proof_number number_of(std::string_view name) const noexcept override {
        return inner_->number_of(name);
    }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->resume(std::move(start));
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<error_code> end() override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->end();
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->request(std::move(request));
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<answers_in_order>> request_in_order(std::vector<lock_request> requests
    ) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->request_in_order(std::move(requests));
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->withdraw(std::move(name), id);
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<bool>> release(grant held) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->release(std::move(held));
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->extend(std::move(held), hold_max);
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<heartbeat>> beat(proof_number number) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->beat(number);
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<session_view>> look(proof_number number) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->look(number);
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->list(std::move(after), limit, queue_max);
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->inspect(std::move(name), queue_max);
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        if (line_->cut)
            co_return released_and_asked(errc::store_unavailable);
        auto asking = inner_->release_and_request(std::move(held), std::move(request));
        const auto both = co_await std::move(asking);
        if (line_->loses_this_reply())
            co_return released_and_asked(errc::outcome_unknown);
        co_return both;
    }

    asio::awaitable<result<token_range>> draw(grant held) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->draw(std::move(held));
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<bool>> break_(break_order order) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->break_(std::move(order));
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->breaks(std::move(name), limit);
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<error_code> watch() override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->watch();
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        if (line_->cut)
            co_return errc::store_unavailable;
        auto reply = co_await inner_->examine();
        if (line_->loses_this_reply())
            co_return errc::outcome_unknown;
        co_return reply;
    }

    std::string explain() const override { return inner_->explain(); }

private:
    void on_store_event(const store_event& event) noexcept override {
        if (!line_->cut)
            events_->on_store_event(event);
    }

    const std::unique_ptr<store> inner_;
    const std::shared_ptr<faulty_line> line_;
    store_events* events_ = nullptr;
};

}  // namespace

std::unique_ptr<store>
make_detachable(std::unique_ptr<store> inner, std::shared_ptr<faulty_line> line) {
    return std::make_unique<detachable_store>(std::move(inner), std::move(line));
}

}  // namespace mortise::test
