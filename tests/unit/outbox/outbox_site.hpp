// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_OUTBOX_OUTBOX_SITE_HPP
#define MORTISE_TESTS_UNIT_OUTBOX_OUTBOX_SITE_HPP

#include "mortise/outbox/relay.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <optional>
#include <thread>

namespace mortise::test {

/// A context with a thread of its own, which can be stopped in its tracks and continued, as a
/// process.
class outbox_site {
public:
    outbox_site() { resume(); }
    ~outbox_site() {
        resume();
        relay.reset();
        work_.reset();
        thread_.join();
    }
    outbox_site(const outbox_site&) = delete;
    outbox_site& operator=(const outbox_site&) = delete;

    asio::any_io_executor executor() { return io_.get_executor(); }
    void pause() {
        if (!thread_.joinable())
            return;
        io_.stop();
        thread_.join();
    }
    void resume() {
        if (thread_.joinable())
            return;
        io_.restart();
        thread_ = std::thread([this] { io_.run(); });
    }

private:
    asio::io_context io_{1};
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_{
        io_.get_executor()};
    std::thread thread_;

public:
    std::optional<outbox::relay> relay;
};

}  // namespace mortise::test

#endif
