// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_REDIS_HARNESS_HPP
#define MORTISE_TESTS_CONFORMANCE_REDIS_HARNESS_HPP

#include "conformance/detachable_store.hpp"
#include "conformance/store_harness.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/store/redis.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/io_context.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace mortise::test {

/// The Redis store at a real server, in real time; each harness has keys of its own.
class redis_harness final : public store_harness {
public:
    redis_harness() {
        static std::atomic<int> count = 0;
        prefix_ = "t" + std::to_string(++count) + ":";
    }

    std::unique_ptr<store> make_store() override {
        redis_store_config config;
        config.server.port = shared_redis().port();
        config.prefix = prefix_;
        config.assume_new = true;
        return make_detachable(make_redis_store(std::move(config)), line_);
    }

    asio::any_io_executor executor() override { return context_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return time_; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(600); }

    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        const auto end = time_->now() + limit;
        context_.restart();
        while (!done() && time_->now() < end)
            context_.run_one_for(std::chrono::milliseconds(20));
        return done();
    }

    // All keys but those that a store has for itself.
    std::size_t residue() override {
        auto server = shared_redis().connect();
        std::size_t count = 0;
        for (const auto& key : server.command({"KEYS", prefix_ + "*"}).items)
            count += key.text != prefix_ + "id" && key.text != prefix_ + "t" &&
                     key.text != prefix_ + "b";
        return count;
    }

    bool lose_replies(std::size_t count) override {
        line_->replies_to_lose = count;
        return true;
    }

private:
    const std::shared_ptr<faulty_line> line_ = std::make_shared<faulty_line>();
    std::string prefix_;
    asio::io_context context_;
    std::shared_ptr<coro::time_source> time_ = coro::make_boot_time_source(context_.get_executor());
};

}  // namespace mortise::test

#endif
