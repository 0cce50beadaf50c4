// SPDX-License-Identifier: BSL-1.0
#include "unit/sqlite/state_user.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace mortise::test {

error_code state_user::open() {
    session_start start;
    start.id = random_id::draw();
    start.generation = 1;
    start.ttl = ttl;
    start.host = "host";
    start.label = "unit";
    start.pid = 42;
    auto out = state.resume(start);
    keep(out.notices);
    opened = std::move(out.value);
    last_id_ = 0;
    return out.code;
}

error_code state_user::beat() {
    const auto session = state.session();
    if (!session || !session->extend(time_.now()))
        return errc::session_lost;
    return {};
}

answer state_user::ask(const std::string& name, bool queue) {
    return ask_for(name, lock_mode::exclusive(), std::chrono::milliseconds::max(), queue);
}

answer state_user::ask_for(
    const std::string& name, lock_mode mode, std::chrono::milliseconds hold_max, bool queue
) {
    lock_request wish;
    wish.id = ++last_id_;
    wish.name = name;
    wish.mode = mode;
    wish.hold_max = hold_max;
    wish.queue = queue;
    const auto out = state.request(wish);
    keep(out.notices);
    asked_ = out.code;
    return out.value;
}

bool state_user::release(const std::string& name, const fencing_token& token, request_id id) {
    grant held;
    held.id = id;
    held.name = name;
    held.token = token;
    const auto out = state.release(held);
    keep(out.notices);
    EXPECT_EQ(out.code, error_code()) << state.explain();
    return out.value;
}

bool state_user::break_(
    const std::string& name, const fencing_token& token, const std::string& why
) {
    break_order order;
    order.name = name;
    order.token = token;
    order.who = "unit";
    order.why = why;
    const auto out = state.break_(order);
    keep(out.notices);
    EXPECT_EQ(out.code, error_code()) << state.explain();
    return out.value;
}

std::string state_user::told() {
    return std::exchange(told_, std::string());
}

void state_user::keep(const std::vector<store_detail::notice>& notices) {
    for (const auto& each : notices) {
        if (!told_.empty())
            told_ += ' ';
        switch (each.what) {
        case store_event::kind::granted:
            told_ += "granted " + std::to_string(each.id);
            break;
        case store_event::kind::contended:
            told_ += "contended " + each.name;
            break;
        case store_event::kind::session_lost:
            told_ += "session_lost";
            break;
        case store_event::kind::look_again:
            told_ += "look_again";
            break;
        case store_event::kind::changed:
            told_ += "changed";
            break;
        }
    }
}

}  // namespace mortise::test
