// SPDX-License-Identifier: BSL-1.0
#include "conformance/joined_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::test {
namespace {

void add(random_id& to, const random_id& more) {
    to.high ^= more.high;
    to.low ^= more.low;
}

class joined_store final : public store, private store_events {
public:
    joined_store(std::unique_ptr<store> inner, proof_number numbers)
        : inner_(std::move(inner)), numbers_(numbers) {}

    store_traits traits() const noexcept override { return inner_->traits(); }
    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        events_ = &events;
        inner_->attach(std::move(strand), *this, std::move(time));
    }
    void detach() noexcept override { inner_->detach(); }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        result<resumed> joined = errc::store_unavailable;
        for (proof_number number = 0; number < numbers_; ++number) {
            session_start own = start;
            own.number = number;
            auto resuming = inner_->resume(std::move(own));
            const auto reply = co_await std::move(resuming);
            if (!reply)
                co_return reply.error();
            if (number == 0) {
                joined = *reply;
                continue;
            }
            add(joined->incarnation, reply->incarnation);
            joined->view.changes += reply->view.changes;
            joined->quarantine = std::max(joined->quarantine, reply->quarantine);
        }
        co_return joined;
    }
    asio::awaitable<error_code> end() override { return inner_->end(); }

    asio::awaitable<result<heartbeat>> beat(proof_number) override {
        result<heartbeat> joined = errc::store_unavailable;
        for (proof_number number = 0; number < numbers_; ++number) {
            auto beating = inner_->beat(number);
            const auto reply = co_await std::move(beating);
            if (!reply)
                co_return reply.error();
            if (number == 0) {
                joined = *reply;
                continue;
            }
            add(joined->incarnation, reply->incarnation);
            joined->changes += reply->changes;
            joined->grants += reply->grants;
            joined->requests += reply->requests;
            joined->quarantine = std::max(joined->quarantine, reply->quarantine);
            if (reply->next_deadline)
                joined->next_deadline = std::min(
                    joined->next_deadline.value_or(clock::duration::max()), *reply->next_deadline
                );
        }
        co_return joined;
    }
    asio::awaitable<result<session_view>> look(proof_number) override {
        session_view joined;
        for (proof_number number = 0; number < numbers_; ++number) {
            auto looking = inner_->look(number);
            auto view = co_await std::move(looking);
            if (!view)
                co_return view.error();
            joined.changes += view->changes;
            for (auto& each : view->entries)
                each.number = 0;
            std::move(
                view->entries.begin(), view->entries.end(), std::back_inserter(joined.entries)
            );
        }
        std::sort(joined.entries.begin(), joined.entries.end(), [](const auto& a, const auto& b) {
            return a.id < b.id;
        });
        co_return joined;
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        auto asking = inner_->request(std::move(request));
        auto reply = co_await std::move(asking);
        if (reply)
            reply->number = 0;
        co_return reply;
    }
    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        auto asking = inner_->release_and_request(std::move(held), std::move(request));
        auto both = co_await std::move(asking);
        if (both.asked)
            both.asked->number = 0;
        co_return both;
    }
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        return inner_->withdraw(std::move(name), id);
    }
    asio::awaitable<result<bool>> release(grant held) override {
        return inner_->release(std::move(held));
    }
    asio::awaitable<result<token_range>> draw(grant held) override {
        return inner_->draw(std::move(held));
    }
    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        return inner_->extend(std::move(held), hold_max);
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        return inner_->list(std::move(after), limit, queue_max);
    }
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        return inner_->inspect(std::move(name), queue_max);
    }
    asio::awaitable<result<bool>> break_(break_order order) override {
        return inner_->break_(std::move(order));
    }
    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        return inner_->breaks(std::move(name), limit);
    }
    asio::awaitable<error_code> watch() override { return inner_->watch(); }
    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        return inner_->examine();
    }
    std::string explain() const override { return inner_->explain(); }

private:
    // The change number of one session says nothing of all of them.
    void on_store_event(const store_event& event) noexcept override {
        store_event joined = event;
        joined.number = 0;
        joined.change = 0;
        events_->on_store_event(joined);
    }

    const std::unique_ptr<store> inner_;
    const proof_number numbers_;
    store_events* events_ = nullptr;
};

}  // namespace

std::unique_ptr<store> make_joined(std::unique_ptr<store> inner, proof_number numbers) {
    return std::make_unique<joined_store>(std::move(inner), numbers);
}

}  // namespace mortise::test
