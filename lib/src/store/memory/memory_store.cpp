// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/assert.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store/memory.hpp"
#include "store/memory/memory_state.hpp"

#include <boost/asio/post.hpp>

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace mortise {
namespace {

using detail::memory_state;

// Connects the server, which pushes from any thread, with the client, which may be gone by then.
struct event_link {
    asio::any_io_executor strand;
    store_events* events = nullptr;  // used and cleared on the strand only
};

void push_to(const std::shared_ptr<event_link>& link, const store_event& event) {
    asio::post(link->strand, [link, event] {
        if (link->events)
            link->events->on_store_event(event);
    });
}

class memory_store final : public store {
public:
    explicit memory_store(std::shared_ptr<memory_state> state) : state_(std::move(state)) {}
    ~memory_store() override { detach(); }

    store_traits traits() const noexcept override {
        store_traits traits;
        traits.scheme = "memory";
        traits.push = traits.fair = traits.server_clock = true;
        traits.shared = traits.permits = traits.hold_max = traits.extend = true;
        traits.release_and_request = traits.request_in_order = true;
        traits.ttl_min = std::chrono::milliseconds(10);
        traits.ttl_max = std::chrono::hours(24);
        return traits;
    }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        link_ = std::make_shared<event_link>();
        link_->strand = std::move(strand);
        link_->events = &events;
        time_ = std::move(time);
        state_->lend(time_);
    }

    void detach() noexcept override {
        if (!link_)
            return;
        link_->events = nullptr;
        link_.reset();
        state_->closed(start_.id);
        state_->take_back(time_);
    }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        MORTISE_ASSERT(link_);
        start_ = std::move(start);
        const clock::time_point sent = time_->now();
        const auto link = link_;
        auto reply = state_->resume(start_, [link](const store_event& e) { push_to(link, e); });
        if (reply)
            reply->sent = sent;
        co_return reply;
    }

    asio::awaitable<error_code> end() override { co_return state_->end(start_.id); }

    asio::awaitable<result<answer>> request(lock_request request) override {
        co_return state_->request(start_.id, start_.generation, request);
    }

    asio::awaitable<result<answers_in_order>> request_in_order(std::vector<lock_request> requests
    ) override {
        co_return state_->request_in_order(start_.id, start_.generation, requests);
    }

    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        co_return state_->withdraw(start_.id, start_.generation, name, id);
    }

    asio::awaitable<result<bool>> release(grant held) override {
        co_return state_->release(start_.id, start_.generation, held);
    }

    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        co_return state_->release_and_request(start_.id, start_.generation, held, request);
    }

    asio::awaitable<result<heartbeat>> beat(proof_number) override {
        const clock::time_point sent = time_->now();
        auto reply = state_->beat(start_.id, start_.generation);
        if (reply)
            reply->sent = sent;
        co_return reply;
    }

    asio::awaitable<result<session_view>> look(proof_number) override {
        co_return state_->look(start_.id, start_.generation);
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        co_return state_->list(after, limit, queue_max);
    }

    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        co_return state_->inspect(name, queue_max);
    }

    asio::awaitable<result<token_range>> draw(grant held) override {
        co_return state_->draw(start_.id, start_.generation, held);
    }

    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        co_return state_->extend(start_.id, start_.generation, held, hold_max);
    }

    asio::awaitable<result<bool>> break_(break_order order) override {
        co_return state_->break_(order);
    }

    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        co_return state_->breaks(name, limit);
    }

    asio::awaitable<error_code> watch() override {
        co_return state_->watch(start_.id, start_.generation);
    }

    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        co_return state_->examine();
    }

private:
    std::shared_ptr<memory_state> state_;
    std::shared_ptr<event_link> link_;
    std::shared_ptr<coro::time_source> time_;
    session_start start_;
};

}  // namespace

memory_server::memory_server(std::shared_ptr<coro::time_source> time)
    : state_(std::make_shared<memory_state>(std::move(time))) {}

std::unique_ptr<store> memory_server::make_store() const {
    return std::make_unique<memory_store>(state_);
}

void memory_server::lose_replies(std::size_t count) {
    state_->lose_replies(count);
}

void memory_server::lose_pushes(std::size_t count) {
    state_->lose_pushes(count);
}

void memory_server::set_unavailable(bool unavailable) {
    state_->set_unavailable(unavailable);
}

void memory_server::set_unreachable(const session_id& session, bool unreachable) {
    state_->set_unreachable(session, unreachable);
}

void memory_server::restart(bool with_memory) {
    state_->restart(with_memory);
}

std::size_t memory_server::sessions() const {
    return state_->sessions();
}

std::size_t memory_server::entries() const {
    return state_->entries();
}

std::unique_ptr<store> make_memory_store(std::string_view name) {
    if (name.empty())
        return std::make_unique<memory_store>(std::make_shared<memory_state>(nullptr));
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<memory_state>, std::less<>> servers;
    const std::lock_guard guard(mutex);
    std::erase_if(servers, [](const auto& each) { return each.second.expired(); });
    auto& known = servers[std::string(name)];
    auto state = known.lock();
    if (!state) {
        state = std::make_shared<memory_state>(nullptr);
        known = state;
    }
    return std::make_unique<memory_store>(std::move(state));
}

}  // namespace mortise
