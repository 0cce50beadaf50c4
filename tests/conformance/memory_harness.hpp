// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_MEMORY_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_MEMORY_HARNESS_HPP

#include "conformance/store_harness.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "mortise/store/memory.hpp"

#include <boost/asio/io_context.hpp>

namespace mortise::test {

/// The memory store in virtual time.
class memory_harness final : public store_harness {
public:
    static store_abilities abilities() {
        store_abilities all;
        all.traits = memory_harness().make_store()->traits();
        all.loses_replies = all.loses_pushes = all.restarts = true;
        all.simulates_time = true;
        return all;
    }

    std::unique_ptr<store> make_store() override { return server_.make_store(); }
    asio::any_io_executor executor() override { return context_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return time_; }
    bool simulates_time() const override { return true; }
    bool steps_are_cheap() const override { return true; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(3'000); }

    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        const auto end = time_->now() + limit;
        time_->run_while(context_, [&] { return !done() && time_->now() < end; });
        return done();
    }

    bool answers_at_once() const override { return true; }

    std::size_t residue() override { return server_.sessions() + server_.entries(); }

    void lose_replies(std::size_t count) override { server_.lose_replies(count); }

    void lose_pushes(std::size_t count) override { server_.lose_pushes(count); }

    void restart(bool with_memory) override { server_.restart(with_memory); }

private:
    asio::io_context context_;
    std::shared_ptr<coro::virtual_time> time_ =
        std::make_shared<coro::virtual_time>(context_.get_executor());
    memory_server server_{time_};
};

}  // namespace mortise::test

#endif
