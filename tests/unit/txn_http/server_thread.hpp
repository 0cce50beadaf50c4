// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_TXN_HTTP_SERVER_THREAD_HPP
#define MORTISE_TESTS_UNIT_TXN_HTTP_SERVER_THREAD_HPP

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <optional>
#include <thread>

namespace mortise::test {

namespace asio = boost::asio;

/// A context that runs on a thread of its own, until it is joined.
class server_thread {
public:
    server_thread() = default;
    ~server_thread() { join(); }
    server_thread(const server_thread&) = delete;
    server_thread& operator=(const server_thread&) = delete;

    /// Waits until it has nothing to do any more.
    void join() {
        work_.reset();
        if (thread_.joinable())
            thread_.join();
    }

    asio::io_context context{1};

private:
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{
        context.get_executor()};
    std::thread thread_{[this] { context.run(); }};
};

}  // namespace mortise::test

#endif
