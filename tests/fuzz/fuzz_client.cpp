// SPDX-License-Identifier: BSL-1.0
// Any configuration of a client and any options of an acquire are refused with a reason, or work:
// two clients contend for a lock, in virtual time, and nothing of them is left in the end.
#include "fuzz/refusal.hpp"
#include "fuzz/target.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/store/memory.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::fuzz::client_target {
namespace {

using std::chrono::milliseconds;

milliseconds some_span(input& in) {
    switch (in.pick(4)) {
    case 0:
        return milliseconds(in.number<std::uint16_t>());
    case 1:
        return in.flag() ? milliseconds::max() : duration_max;
    default:
        return milliseconds(in.edge<std::int64_t>());
    }
}

lock_mode some_mode(input& in) {
    switch (in.pick(3)) {
    case 0:
        return lock_mode::exclusive();
    case 1:
        return lock_mode::shared();
    default:
        return lock_mode::permits(in.flag() ? 2 : in.edge<std::uint32_t>());
    }
}

class world {
public:
    explicit world(input& in) : in_(in) {}

    /// @return whether the configuration was accepted.
    bool open_clients() {
        const client_config config = some_config();
        const bool wrong = check_config(config).has_value();
        const error_code refused = refusal_of([&] {
            for (int i = 0; i < 2; ++i)
                clients_.emplace_back(context_.get_executor(), server_.make_store(), config);
        });
        MORTISE_ASSERT(!refused || refused == condition::bad_argument);
        MORTISE_ASSERT(!wrong || refused);
        return !refused;
    }

    void step() {
        switch (in_.pick(4)) {
        case 0:
        case 1:
            return acquire();
        case 2:
            if (!leases_.empty())
                leases_.erase(leases_.begin());
            return;
        default:
            time_->run_for(context_, milliseconds(in_.number<std::uint8_t>()));
            return;
        }
    }

    void end() {
        leases_.clear();
        std::size_t stopped = 0;
        for (lock_client& each : clients_)
            each.async_stop([&](error_code code) {
                MORTISE_ASSERT(!code);
                ++stopped;
            });
        run_while([&] { return stopped < clients_.size(); });
        MORTISE_ASSERT(stopped == clients_.size() && under_way_ == 0);
        MORTISE_ASSERT(server_.sessions() == 0 && server_.entries() == 0);
    }

    bool used_up() const { return in_.used_up(); }

private:
    client_config some_config() {
        client_config config;
        config.time = time_;
        if (in_.flag())
            config.ttl = some_span(in_);
        if (in_.flag())
            config.stop_margin = some_span(in_);
        if (in_.flag())
            config.release_budget = some_span(in_);
        if (in_.flag())
            config.turn_time_max = some_span(in_);
        if (in_.flag())
            config.clock_drift_ppm = in_.edge<std::uint32_t>();
        if (in_.flag())
            config.waiters_max = in_.edge<std::size_t>();
        config.turn_handoffs_max = in_.edge<std::uint32_t>();
        config.local_handoff = in_.flag();
        config.label = in_.text(8);
        return config;
    }

    void acquire() {
        lock_options options;
        options.mode = some_mode(in_);
        options.wait_max = some_span(in_);
        if (in_.flag())
            options.hold_max = some_span(in_);
        if (in_.flag())
            options.linger = some_span(in_);
        const std::string name = in_.text(2);
        const bool wrong = check_name(name) || check_options(options);
        lock_client& who = in_.flag() ? clients_.front() : clients_.back();
        ++under_way_;
        who.async_acquire(name, options, [this, wrong](error_code code, lease held) {
            --under_way_;
            MORTISE_ASSERT(!wrong || code == condition::bad_argument);
            MORTISE_ASSERT(code.failed() != static_cast<bool>(held.token()));
            if (!code)
                leases_.push_back(std::move(held));
        });
        time_->run_for(context_, milliseconds(1));
    }

    template <class Wanted>
    void run_while(Wanted wanted) {
        const auto end = time_->now() + std::chrono::minutes(1);
        time_->run_while(context_, [&] { return wanted() && time_->now() < end; });
    }

    input& in_;
    asio::io_context context_;
    std::shared_ptr<coro::virtual_time> time_ =
        std::make_shared<coro::virtual_time>(context_.get_executor());
    memory_server server_{time_};
    std::list<lock_client> clients_;
    std::list<lease> leases_;
    std::size_t under_way_ = 0;
};

}  // namespace

MORTISE_FUZZ_TARGET(client) {
    constexpr int steps_max = 24;
    world both(in);
    if (!both.open_clients())
        return;
    for (int i = 0; i < steps_max && !both.used_up(); ++i)
        both.step();
    both.end();
}

}  // namespace mortise::fuzz::client_target
