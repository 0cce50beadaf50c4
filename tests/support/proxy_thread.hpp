// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PROXY_THREAD_HPP
#define MORTISE_TESTS_SUPPORT_PROXY_THREAD_HPP

#include "support/redis_proxy.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace mortise::test {

/// A `redis_proxy` on a thread of its own: for clients that block, or that are other processes.
///
///     proxy_thread proxy(server.port());
///     proxy.run([](redis_proxy& p) { p.cut_all(); });
class proxy_thread {
public:
    explicit proxy_thread(std::uint16_t server_port)
        : proxy_(std::in_place, context_.get_executor(), server_port), port_(proxy_->port()) {
        thread_ = std::thread([this] { context_.run(); });
    }
    ~proxy_thread();
    proxy_thread(const proxy_thread&) = delete;
    proxy_thread& operator=(const proxy_thread&) = delete;

    std::uint16_t port() const noexcept { return port_; }

    /// Calls `call` with the proxy, on its thread. @return its result
    template <class Call>
    auto run(Call call) {
        using task = std::packaged_task<std::invoke_result_t<Call&, redis_proxy&>()>;
        const auto whole = std::make_shared<task>([&] { return call(*proxy_); });
        auto done = whole->get_future();
        asio::post(context_, [whole] { (*whole)(); });
        return done.get();
    }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    std::optional<redis_proxy> proxy_;
    std::uint16_t port_;
    std::thread thread_;
};

inline proxy_thread::~proxy_thread() {
    run([this](redis_proxy&) { proxy_.reset(); });
    work_.reset();
    thread_.join();
}

}  // namespace mortise::test

#endif
