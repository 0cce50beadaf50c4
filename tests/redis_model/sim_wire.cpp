// SPDX-License-Identifier: BSL-1.0
#include "redis_model/sim_wire.hpp"

#include "base/as_killed.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/sim/world.hpp"
#include "store/redis/greeting.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>

#include <chrono>
#include <tuple>
#include <utility>

namespace mortise::redis_model {
namespace {

using namespace std::chrono_literals;
using store_detail::redis_command;
using store_detail::redis_failure;
using store_detail::redis_value;

constexpr auto look_after = 3s;  // as at the server's end

}  // namespace

sim_wire::sim_wire(
    std::shared_ptr<sim_endpoint> server, sim::process& client, asio::any_io_executor strand
)
    : server_(std::move(server)),
      client_(client),
      strand_(std::move(strand)),
      id_(server_->next_id()) {}

sim_wire::~sim_wire() {
    if (!mortise::detail::as_killed::now())
        close();
}

void sim_wire::send(client_message message) {
    client_.in().net().send(
        client_,
        server_->host(),
        [end = server_,
         id = id_,
         &client = client_,
         weak = weak_from_this(),
         number = sent_++,
         message = std::move(message)] { end->arrived(end, id, client, weak, number, message); }
    );
}

// The server hears nothing of a cancellation and answers in order, so a waiting request ignores it.
void sim_wire::start(answers::completion_type done, sim_wire* self, client_message message) {
    done.release_slot();
    self->waiting_.add(std::move(done));
    self->send(std::move(message));
}

asio::awaitable<result<redis_value>> sim_wire::ask(client_message message) {
    const auto kept = shared_from_this();
    auto running = coro::detail::async_start<answers::signature>(
        strand_, asio::as_tuple(asio::deferred), &sim_wire::start, this, std::move(message)
    );
    auto reply = co_await std::move(running);
    if (std::get<0>(reply))
        co_return error_code(errc::outcome_unknown);
    co_return std::move(std::get<1>(reply));
}

asio::awaitable<redis_failure> sim_wire::open(store_detail::redis_wire_events& events) {
    const auto kept = shared_from_this();
    if (state_ != state::fresh)
        co_return redis_failure(errc::store_unavailable, "closed");
    events_ = &events;
    state_ = state::opening;
    client_message greeting;
    greeting.type = client_message::kind::open;
    auto connecting = ask(std::move(greeting));
    const auto connected = co_await std::move(connecting);
    if (!connected)
        co_return redis_failure(errc::store_unavailable, "connecting: it was refused");
    client_message hello;
    for (const char* const each : {"HELLO", "3", "SETNAME", "mortise"})
        hello.words.emplace_back(each);
    auto asking = ask(std::move(hello));
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return redis_failure(errc::store_unavailable, "the connection was closed");
    std::vector<redis_value> replies(1, *reply);
    auto failure = store_detail::judge_hello(replies, store_detail::redis_role::server);
    if (failure.code)
        close();
    else
        state_ = state::open;
    co_return failure;
}

asio::awaitable<redis_failure> sim_wire::subscribe(std::string channel) {
    client_message message;
    message.words.emplace_back("SUBSCRIBE");
    message.words.push_back(std::move(channel));
    auto asking = call(std::move(message.words));
    const auto reply = co_await std::move(asking);
    if (!reply)
        co_return redis_failure(errc::store_unavailable, "the connection was closed");
    if (reply->type == redis_value::kind::error)
        co_return redis_failure(store_detail::meaning_of_refusal(reply->text), reply->text);
    co_return redis_failure();
}

asio::awaitable<result<redis_value>> sim_wire::call(redis_command command) {
    const auto kept = shared_from_this();
    if (state_ != state::open)
        co_return error_code(errc::store_unavailable);
    client_message message;
    message.words = std::move(command);
    auto asking = ask(std::move(message));
    co_return co_await std::move(asking);
}

void sim_wire::close() noexcept {
    events_ = nullptr;
    if (state_ == state::opening || state_ == state::open) {
        client_message farewell;
        farewell.type = client_message::kind::farewell;
        send(std::move(farewell));
    }
    end();
}

void sim_wire::end() noexcept {
    state_ = state::ended;
    waiting_.close();
}

void sim_wire::arrived(std::uint64_t number, server_message message) {
    asio::dispatch(
        strand_,
        [kept = shared_from_this(), number, message = std::move(message)]() mutable {
            kept->inbox_.put(number, std::move(message));
            while (auto next = kept->inbox_.take())
                kept->take(std::move(*next));
            if (kept->state_ == state::ended || !kept->inbox_.has_hole())
                return;
            const auto look = [weak = kept->weak_from_this(), at = kept->inbox_.next()] {
                const auto self = weak.lock();
                if (self && self->inbox_.next() == at)
                    self->was_reset();
            };
            kept->client_.in().after(look_after, [&client = kept->client_, look] {
                client.post(look);
            });
        }
    );
}

void sim_wire::take(server_message message) {
    if (state_ == state::ended)
        return;
    if (message.type == server_message::kind::push) {
        if (events_ && state_ == state::open)
            events_->on_push(std::move(message.value));
        return;
    }
    waiting_.complete_one(error_code(), std::move(message.value));
}

void sim_wire::was_reset() {
    asio::dispatch(strand_, [kept = shared_from_this()] { kept->reset_now(); });
}

void sim_wire::reset_now() {
    if (state_ == state::ended)
        return;
    const bool was_open = state_ == state::open;
    end();
    if (was_open && events_)
        std::exchange(events_, nullptr)
            ->on_closed({errc::store_unavailable, "Connection reset by peer"});
}

}  // namespace mortise::redis_model
