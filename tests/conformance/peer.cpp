// SPDX-License-Identifier: BSL-1.0
#include "conformance/peer.hpp"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace mortise::test {

// Takes the harness's executor without a strand: the tests run on one thread, and their coroutines
// on one strand at a time.
peer::peer(store_harness& harness) : peer(harness, harness.ttl()) {}

peer::peer(store_harness& harness, std::chrono::milliseconds ttl)
    : harness_(harness), store_(harness.make_store()) {
    start_.ttl = ttl;
    store_->attach(harness_.executor(), *this, harness_.time());
}

peer::~peer() {
    drop();
}

void peer::drop() {
    if (!store_)
        return;
    store_->detach();
    store_.reset();
}

asio::awaitable<result<resumed>> peer::resume(std::uint64_t generation) {
    start_.generation = generation;
    start_.host = "test-host";
    start_.label = "peer";
    start_.pid = 4711;
    session_start copy = start_;
    co_return co_await store_->resume(std::move(copy));
}

asio::awaitable<resumed> peer::open() {
    start_.id = random_id::draw();
    const auto reply = co_await resume(1);
    if (!reply)
        throw boost::system::system_error(reply.error(), "resume: " + store_->explain());
    co_return *reply;
}

asio::awaitable<result<answer>> peer::ask(std::string name, bool queue) {
    co_return co_await ask_again(++last_id_, std::move(name), queue);
}

lock_request peer::wish_for(std::string name, const manner& how) {
    lock_request wish;
    wish.id = ++last_id_;
    wish.name = std::move(name);
    wish.mode = how.mode;
    wish.hold_max = how.hold_max;
    wish.queue = how.queue;
    return wish;
}

asio::awaitable<result<answer>> peer::ask_for(std::string name, manner how) {
    co_return co_await store_->request(wish_for(std::move(name), how));
}

asio::awaitable<result<answer>> peer::ask_again(request_id id, std::string name, bool queue) {
    lock_request wish;
    wish.id = id;
    wish.name = std::move(name);
    wish.queue = queue;
    co_return co_await store_->request(std::move(wish));
}

asio::awaitable<grant> peer::hold(std::string name) {
    co_return co_await hold_for(std::move(name), manner());
}

asio::awaitable<grant> peer::hold_for(std::string name, manner how) {
    auto wish = wish_for(name, how);
    grant held;
    held.id = wish.id;
    held.name = std::move(name);
    const auto reply = co_await store_->request(std::move(wish));
    if (!reply)
        throw boost::system::system_error(reply.error(), "request");
    EXPECT_EQ(reply->type, answer::kind::granted);
    EXPECT_TRUE(reply->token);
    held.token = reply->token;
    co_return held;
}

asio::awaitable<result<bool>> peer::break_(std::string name, fencing_token token) {
    break_order order;
    order.name = std::move(name);
    order.token = token;
    order.who = "peer";
    order.why = "a test";
    co_return co_await store_->break_(std::move(order));
}

bool peer::has(store_event::kind type) const {
    return std::any_of(events_.begin(), events_.end(), [&](const event& each) {
        return each.type == type;
    });
}

asio::awaitable<bool> peer::hears(store_event::kind type, request_id id, clock::duration limit) {
    const auto end = harness_.time()->now() + limit;
    for (;;) {
        const auto found = std::find_if(events_.begin(), events_.end(), [&](const event& each) {
            return each.type == type && (each.id == id || id == 0);
        });
        if (found != events_.end()) {
            heard_ = *found;
            events_.erase(found);
            co_return true;
        }
        const auto now = harness_.time()->now();
        if (now >= end)
            co_return false;
        co_await harness_.time()->async_wait_until(now + std::chrono::milliseconds(1));
    }
}

void peer::on_store_event(const store_event& notice) noexcept {
    events_.push_back({notice.type, notice.id, notice.token, notice.slot, notice.contended});
}

}  // namespace mortise::test
