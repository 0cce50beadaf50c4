// SPDX-License-Identifier: BSL-1.0
#include "sim/resource.hpp"

#include "mortise/sim/rpc.hpp"
#include "mortise/sim/world.hpp"

#include <chrono>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::chrono::seconds answer_max{5};

struct nothing {};

asio::awaitable<void> idle(sim::process&) {
    co_return;
}

}  // namespace

resource::resource(sim::world& in, std::function<void(const std::string&)> broken)
    : host_(in.add_process("resource")), broken_(std::move(broken)) {
    host_.run(&idle);
}

error_code resource::admit(fenced_number& at, const fencing_token& token) {
    const error_code refused = at.gate.admit(token);
    if (refused)
        ++refused_;
    return refused;
}

asio::awaitable<result<std::uint64_t>>
resource::read(sim::process& from, std::string key, fencing_token token) {
    std::function<result<std::uint64_t>()> there =
        [this, key = std::move(key), token]() -> result<std::uint64_t> {
        auto& at = fenced_[key];
        if (const error_code refused = admit(at, token))
            return refused;
        return at.value;
    };
    return sim::rpc<std::uint64_t>(from, host_, std::move(there), answer_max);
}

error_code
resource::do_write(const std::string& key, const fencing_token& token, std::uint64_t value) {
    auto& at = fenced_[key];
    const auto before = at.gate.highest();
    if (const error_code refused = admit(at, token))
        return refused;
    ++writes_;
    if (token.value < before.value)
        broken_("the fence of " + key + " went back");
    if (value != at.value + 1) {
        broken_(
            "a fenced number lost an update: " + key + " was " + std::to_string(at.value) +
            " and became " + std::to_string(value)
        );
    }
    at.value = value;
    return {};
}

asio::awaitable<error_code>
resource::write(sim::process& from, std::string key, fencing_token token, std::uint64_t value) {
    std::function<result<nothing>()> there =
        [this, key = std::move(key), token, value, number = ++last_request_]() -> result<nothing> {
        if (!first_time(number))
            return nothing();
        if (const error_code refused = do_write(key, token, value))
            return refused;
        return nothing();
    };
    auto asking = sim::rpc<nothing>(from, host_, std::move(there), answer_max);
    const auto reply = co_await std::move(asking);
    co_return reply ? error_code() : reply.error();
}

asio::awaitable<result<std::uint64_t>>
resource::read_unfenced(sim::process& from, std::string key) {
    std::function<result<std::uint64_t>()> there = [this, key = std::move(key)] {
        return result<std::uint64_t>(unfenced_[key]);
    };
    return sim::rpc<std::uint64_t>(from, host_, std::move(there), answer_max);
}

asio::awaitable<error_code>
resource::write_unfenced(sim::process& from, std::string key, std::uint64_t value) {
    std::function<result<nothing>()> there =
        [this, key = std::move(key), value, number = ++last_request_] {
            if (!first_time(number))
                return result<nothing>(nothing());
            auto& at = unfenced_[key];
            if (value != at + 1)
                ++lost_unfenced_;
            at = value;
            return result<nothing>(nothing());
        };
    auto asking = sim::rpc<nothing>(from, host_, std::move(there), answer_max);
    const auto reply = co_await std::move(asking);
    co_return reply ? error_code() : reply.error();
}

}  // namespace mortise::test
