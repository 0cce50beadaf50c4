// SPDX-License-Identifier: BSL-1.0
#include "support/zookeeper_tree.hpp"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

namespace mortise::test {

using zookeeper_detail::zk_answer;

zookeeper_tree::zookeeper_tree(std::string servers, std::string login)
    : time_(coro::make_boot_time_source(context_.get_executor())),
      handle_(std::make_shared<handle>(
          context_.get_executor(),
          time_,
          handle::config{std::move(servers), std::chrono::minutes(1), std::move(login)},
          handle::listener{[](auto) {}, [](const auto&) {}, [](auto) {}}
          // It asks again, and watches nothing.
      )) {
    if (const auto failed = handle_->open())
        throw std::runtime_error("no client of ZooKeeper: " + failed.message());
}

zookeeper_tree::~zookeeper_tree() {
    handle_->close();
}

// The client asks as soon as it is connected, and fails if that was lost meanwhile.
zk_answer zookeeper_tree::ask(const std::function<void(handle&, handle::replied)>& send) {
    constexpr auto patience = std::chrono::seconds(20);
    const auto end = time_->now() + patience;
    while (time_->now() < end) {
        std::optional<zk_answer> got;
        send(*handle_, [&](zk_answer answer) { got = std::move(answer); });
        context_.restart();
        while (!got && time_->now() < end)
            context_.run_one_for(std::chrono::milliseconds(20));
        if (got && got->failed == zookeeper_detail::zk_code::session_expired)
            break;  // It was not asked anything for so long.
        if (got && got->failed != zookeeper_detail::zk_code::invalid_state &&
            !zookeeper_detail::may_be_done(got->failed))
            return std::move(*got);
    }
    throw std::runtime_error("ZooKeeper does not answer");
}

std::vector<std::string> zookeeper_tree::children(const std::string& path) {
    return ask([&](handle& on, auto then) { on.list(path, false, std::move(then)); }).children;
}

zk_answer zookeeper_tree::get(const std::string& path) {
    return ask([&](handle& on, auto then) { on.get(path, false, std::move(then)); });
}

error_code zookeeper_tree::erase(const std::string& path) {
    return ask([&](handle& on, auto then) { on.erase(path, -1, std::move(then)); }).failed;
}

std::string zookeeper_tree::text(const std::string& path) {
    std::string all;
    for (const auto& each : children(path)) {
        const auto below = path + (path.ends_with('/') ? "" : "/") + each;
        all += below + " = " + get(below).data + '\n' + text(below);
    }
    return all;
}

}  // namespace mortise::test
