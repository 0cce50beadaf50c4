// SPDX-License-Identifier: BSL-1.0
#include "unit/sqlite/store_user.hpp"

#include <gtest/gtest.h>

namespace mortise::test {

bool real_world::until(const std::function<bool()>& done, clock::duration limit) {
    const auto end = time->now() + limit;
    context.restart();
    while (!done() && time->now() < end)
        context.run_one_for(std::chrono::milliseconds(20));
    return done();
}

store_user::store_user(real_world& world, const sqlite_store_config& config)
    : world_(world), store_(make_sqlite_store(config)) {
    store_->attach(world_.context.get_executor(), *this, world_.time);
}

store_user::~store_user() {
    drop();
}

void store_user::drop() {
    if (store_)
        store_->detach();
    store_.reset();
}

error_code store_user::open(std::chrono::milliseconds ttl) {
    session_start start;
    start.id = random_id::draw();
    start.generation = 1;
    start.ttl = ttl;
    last_id_ = 0;
    const auto reply = world_.get(store_->resume(start));
    return reply ? error_code() : reply.error();
}

answer store_user::ask(const std::string& name) {
    lock_request wish;
    wish.id = ++last_id_;
    wish.name = name;
    const auto reply = world_.get(store_->request(std::move(wish)));
    EXPECT_TRUE(reply) << reply.error().message() << store_->explain();
    if (!reply)
        return {};
    token_ = reply->token;
    return *reply;
}

void store_user::release(const std::string& name, request_id id, const fencing_token& token) {
    grant held;
    held.id = id;
    held.name = name;
    held.token = token;
    const auto reply = world_.get(store_->release(std::move(held)));
    EXPECT_TRUE(reply && *reply);
}

result<heartbeat> store_user::beat() {
    return world_.get(store_->beat(0));
}

bool store_user::hears(const std::string& text, clock::duration limit) {
    const auto heard = [&] { return notices_.find(text) != std::string::npos; };
    if (!world_.until(heard, limit))
        return false;
    notices_.clear();
    return true;
}

void store_user::on_store_event(const store_event& event) noexcept {
    switch (event.type) {
    case store_event::kind::granted:
        token_ = event.token;
        notices_ += "granted " + std::to_string(event.id) + ' ';
        break;
    case store_event::kind::contended:
        notices_ += "contended " + std::to_string(event.id) + ' ';
        break;
    case store_event::kind::session_lost:
        notices_ += "session_lost " + event.why.message() + ' ';
        break;
    case store_event::kind::look_again:
        notices_ += "look_again ";
        break;
    case store_event::kind::unsure:
        notices_ += "unsure ";
        break;
    case store_event::kind::changed:
        notices_ += "changed ";
        break;
    }
}

}  // namespace mortise::test
