// SPDX-License-Identifier: BSL-1.0
#include "unit/sqlite/state_user.hpp"

#include <gtest/gtest.h>

#include <span>
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
    store_detail::request_operation asking(wish);
    perform(asking);
    asked_ = asking.out.code;
    return asking.out.value;
}

bool state_user::release(const std::string& name, const fencing_token& token, request_id id) {
    grant held;
    held.id = id;
    held.name = name;
    held.token = token;
    store_detail::release_operation releasing(held);
    perform(releasing);
    EXPECT_EQ(releasing.out.code, error_code()) << state.explain();
    return releasing.out.value;
}

store_detail::outcome<token_range> state_user::draw(const grant& held) {
    store_detail::draw_operation drawing(held);
    perform(drawing);
    return drawing.out;
}

store_detail::outcome<store_detail::nothing>
state_user::withdraw(const std::string& name, request_id id) {
    store_detail::withdraw_operation withdrawing(name, id);
    perform(withdrawing);
    return withdrawing.out;
}

void state_user::perform(store_detail::lock_operation& operation) {
    store_detail::lock_operation* const one = &operation;
    state.perform(std::span(&one, 1));
    keep(operation.notices());
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

std::string state_user::take_notices() {
    return std::exchange(notices_, std::string());
}

void state_user::keep(const std::vector<store_detail::notice>& notices) {
    for (const auto& each : notices) {
        if (!notices_.empty())
            notices_ += ' ';
        switch (each.kind) {
        case store_event::kind::granted:
            notices_ += "granted " + std::to_string(each.id);
            break;
        case store_event::kind::contended:
            notices_ += "contended " + std::to_string(each.id);
            break;
        case store_event::kind::session_lost:
            notices_ += "session_lost";
            break;
        case store_event::kind::look_again:
            notices_ += "look_again";
            break;
        case store_event::kind::unsure:
            notices_ += "unsure";
            break;
        case store_event::kind::changed:
            notices_ += "changed";
            break;
        }
    }
}

}  // namespace mortise::test
