// SPDX-License-Identifier: BSL-1.0
#include "support/zookeeper_tree.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace mortise::test {

using zookeeper_detail::zk_answer;
using zookeeper_detail::zk_code;

namespace {

// Whether the servers have said something.
bool is_answer(const error_code& failed) {
    return failed != zk_code::session_expired && failed != zk_code::invalid_state &&
           !zookeeper_detail::may_be_done(failed);
}

}  // namespace

zookeeper_tree::zookeeper_tree(std::string servers, std::string login)
    : servers_(std::move(servers)),
      login_(std::move(login)),
      time_(coro::make_boot_time_source(context_.get_executor())) {
    open();
}

zookeeper_tree::~zookeeper_tree() {
    handle_->close();
}

// It watches nothing, and asks again by itself.
void zookeeper_tree::open() {
    handle_ = std::make_shared<handle>(
        context_.get_executor(),
        time_,
        handle::config{servers_, std::chrono::minutes(1), login_},
        handle::listener{[](auto) {}, [](const auto&) {}, [](auto) {}}
    );
    if (const auto failed = handle_->open())
        throw std::runtime_error("no client of ZooKeeper: " + failed.message());
}

// The client asks as soon as it is connected, and fails if that was lost meanwhile. Its session
// expires when nothing is asked for a long time.
zk_answer zookeeper_tree::ask(const std::function<void(handle&, handle::replied)>& send) {
    constexpr auto patience = std::chrono::seconds(20);
    const auto end = time_->now() + patience;
    while (time_->now() < end) {
        const auto got = std::make_shared<std::optional<zk_answer>>();
        send(*handle_, [got](zk_answer answer) { *got = std::move(answer); });
        context_.restart();
        while (!*got && time_->now() < end)
            context_.run_one_for(std::chrono::milliseconds(20));
        if (*got && is_answer((*got)->failed))
            return std::move(**got);
        if (handle_->state() == zookeeper_detail::zk_state::expired) {
            handle_->close();
            open();
        }
    }
    throw std::runtime_error("ZooKeeper does not answer");
}

std::vector<std::string> zookeeper_tree::children(const std::string& path) {
    return ask([&](handle& on, auto then) { on.list(path, false, std::move(then)); }).children;
}

std::size_t zookeeper_tree::grandchildren(const std::string& path) {
    constexpr std::size_t at_a_time = 500;
    const auto parents = children(path);
    std::size_t count = 0;
    for (std::size_t from = 0; from < parents.size(); from += at_a_time) {
        const auto end = std::min(parents.size(), from + at_a_time);
        std::shared_ptr<std::size_t> some;
        // The last answer comes last.
        ask([&](handle& on, const handle::replied& then) {
            some = std::make_shared<std::size_t>(0);
            for (auto i = from; i < end; ++i) {
                const bool last = i + 1 == end;
                const auto add = [some, then, last](zk_answer answer) {
                    *some += answer.children.size();
                    if (last)
                        then(std::move(answer));
                };
                on.list(path + '/' + parents[i], false, add);
            }
        });
        count += *some;
    }
    return count;
}

zk_answer zookeeper_tree::get(const std::string& path) {
    return ask([&](handle& on, auto then) { on.get(path, false, std::move(then)); });
}

error_code zookeeper_tree::create(const std::string& path) {
    constexpr auto kind = zookeeper_detail::node_kind::persistent;
    return ask([&](handle& on, auto then) { on.create(path, "", kind, std::move(then)); }).failed;
}

error_code zookeeper_tree::set(const std::string& path, const std::string& data) {
    return ask([&](handle& on, auto then) { on.set(path, data, -1, std::move(then)); }).failed;
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
