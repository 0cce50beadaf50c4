// SPDX-License-Identifier: BSL-1.0
#include "conformance/memory_harness.hpp"
#include "conformance/port_conformance.hpp"
#include "mortise/coro/time_source.hpp"

MORTISE_LOCK_CONFORMANCE(Memory, memory_harness)

namespace mortise::test {
namespace {

/// The memory store in real time.
class memory_in_real_time final : public store_harness {
public:
    static store_abilities abilities() {
        store_abilities all;
        all.traits = memory_server().make_store()->traits();
        all.lives_anywhere = true;
        return all;
    }

    std::unique_ptr<store> make_store() override { return server_.make_store(); }
    asio::any_io_executor executor() override { return context_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return time_; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(600); }
    std::size_t residue() override { return server_.sessions() + server_.entries(); }

    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        const auto end = time_->now() + limit;
        context_.restart();
        while (!done() && time_->now() < end)
            context_.run_one_for(std::chrono::milliseconds(20));
        return done();
    }

private:
    asio::io_context context_;
    std::shared_ptr<coro::time_source> time_ = coro::make_boot_time_source(context_.get_executor());
    memory_server server_{time_};  // Not that of the first client, whose context may end before.
};

MORTISE_THREAD_SUITES(MemoryInRealTime, memory_in_real_time)

}  // namespace
}  // namespace mortise::test
