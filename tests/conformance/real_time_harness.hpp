// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_REAL_TIME_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_REAL_TIME_HARNESS_HPP

#include "conformance/detachable_store.hpp"
#include "conformance/store_harness.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <memory>

namespace mortise::test {

/// A store at a real server, in real time, with clients in one context.
class real_time_harness : public store_harness {
public:
    asio::any_io_executor executor() override { return context_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return time_; }
    std::chrono::milliseconds ttl() const override { return std::chrono::seconds(1); }
    std::chrono::milliseconds short_ttl() const override { return std::chrono::milliseconds(600); }

    // A machine that is busy with others may take longer, but not for ever.
    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        constexpr int longest = 4;
        const machine_delay delay;
        const auto end = time_->now() + limit;
        const auto late_end = [&] {
            const auto more = std::chrono::duration_cast<clock::duration>(delay.so_far());
            return end + std::min<clock::duration>(more, longest * limit);
        };
        context_.restart();
        while (!done() && (time_->now() < end || time_->now() < late_end())) {
            context_.run_one_for(std::chrono::milliseconds(20));
            const auto now = time_->now();
            longest_pause_ = std::max(longest_pause_, now - ran_at_);
            ran_at_ = now;
        }
        return done();
    }

    machine_delay::milliseconds longest_pause() const override { return longest_pause_; }

    void lose_replies(std::size_t count) override { line_->replies_to_lose = count; }

protected:
    const std::shared_ptr<faulty_line>& line() const { return line_; }
    /// Runs the handlers that are ready, also from inside of one.
    void poll() { context_.poll(); }

private:
    const std::shared_ptr<faulty_line> line_ = std::make_shared<faulty_line>();
    asio::io_context context_;
    const std::shared_ptr<coro::time_source> time_ =
        coro::make_boot_time_source(context_.get_executor());
    clock::time_point ran_at_ = time_->now();
    clock::duration longest_pause_{};
};

}  // namespace mortise::test

#endif
