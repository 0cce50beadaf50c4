// SPDX-License-Identifier: BSL-1.0
#include "sim/scenario.hpp"

#include "mortise/sim/world.hpp"
#include "mortise/store.hpp"
#include "sim/backend.hpp"
#include "sim/judge.hpp"
#include "sim/nemesis.hpp"
#include "sim/resource.hpp"
#include "sim/shop.hpp"

#include <boost/asio/as_tuple.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

namespace mortise::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds peace_max{120};
// Several times the number of the busiest runs.
constexpr std::uint64_t steps_max = 25'000;

class run {
public:
    run(const std::string& store, std::uint64_t seed, bool trace)
        : world_(seed),
          numbers_(world_, [this](const std::string& fault) { judge_.fail(fault); }),
          store_(make_backend(store, world_)) {
        if (trace)
            world_.listen([this](clock::time_point when, std::string_view text) {
                print(when, text);
            });
        floor_.make_store = [this](sim::process& client) { return store_->make_store(client); };
        floor_.config.ttl = sim_ttl;
        floor_.verdicts = &judge_;
        floor_.numbers = &numbers_;
        const std::size_t count = 2 + world_.random().below(4);
        for (std::size_t i = 0; i < count; ++i) {
            shops_.push_back(&store_->add_client("shop " + std::to_string(i)));
            shops_.back()->run([this](sim::process& self) { return shop::main(floor_, self); });
        }
        nemesis_ = std::make_unique<nemesis>(world_, shops_, numbers_.host(), *store_);
        world_.watch([this](sim::process& who) { judge_.look(who); });
    }

    ~run() { world_.end(); }
    run(const run&) = delete;
    run& operator=(const run&) = delete;

    sim_outcome go() {
        try {
            chaos();
            if (judge_.verdict().empty())
                peace();
        } catch (const std::exception& escaped) {
            judge_.fail(std::string("an exception escaped: ") + escaped.what());
        }
        if (world_.steps() > steps_max)
            judge_.fail(
                "the processes run in circles: " + std::to_string(world_.steps()) + " steps"
            );
        sim_outcome out;
        out.verdict = judge_.verdict();
        out.event_hash = world_.event_hash();
        out.steps = world_.steps();
        out.grants = judge_.grants();
        out.errors = floor_.errors;
        out.faults = nemesis_->faults();
        out.writes = numbers_.writes();
        out.refused = numbers_.refused();
        out.lost_unfenced = numbers_.lost_unfenced();
        return out;
    }

private:
    // Prints the time, and how many handlers have run by then.
    void print(clock::time_point when, std::string_view text) const {
        const std::chrono::duration<double> at = when.time_since_epoch();
        const auto step = static_cast<unsigned long long>(world_.steps());
        std::printf(
            "%10.6f %7llu %.*s\n", at.count(), step, static_cast<int>(text.size()), text.data()
        );
    }

    bool judged() const { return !judge_.verdict().empty(); }

    void chaos() {
        const auto span = world_.random().between(seconds(3), seconds(10));
        nemesis_->rage_until(world_.now() + span);
        world_.run_until([this] { return judged(); }, span);
    }

    void peace() {
        nemesis_->stop();
        floor_.chaos = false;
        const auto all = [this] { return judged() || floor_.finished == shops_.size(); };
        if (!world_.run_until(all, peace_max)) {
            judge_.fail(
                "only " + std::to_string(floor_.finished) + " of " + std::to_string(shops_.size()) +
                " processes got every lock in peace"
            );
        }
        if (!judged())
            clean_up();
    }

    // Reaps the dead: a session does that after it has lived for longer than their TTL.
    void clean_up() {
        bool done = false;
        sim::process& janitor = store_->add_client("janitor");
        janitor.run([this, &done](sim::process& self) { return sweep(self, done); });
        if (!world_.run_until([&] { return done; }, seconds(60)))
            judge_.fail("the janitor does not end");
        if (const std::string left = store_->residue(); !left.empty())
            judge_.fail("left behind: " + left);
    }

    asio::awaitable<void> sweep(sim::process& self, bool& done) {
        constexpr auto with_code = asio::as_tuple(asio::deferred);
        client_config config = floor_.config;
        config.time = self.time();
        lock_client locks(self.get_executor(), store_->make_store(self), std::move(config));
        auto got = co_await locks.async_acquire("broom", lock_options(), with_code);
        if (std::get<0>(got))
            judge_.fail("the janitor gets no lock: " + std::get<0>(got).message());
        const lease held = std::move(std::get<1>(got));
        const auto until = self.time()->now() + 3 * sim_ttl;
        co_await self.time()->async_wait_until(until, with_code);
        auto stopped = co_await locks.async_stop(with_code);
        if (std::get<0>(stopped))
            judge_.fail("the janitor does not stop: " + std::get<0>(stopped).message());
        done = true;
    }

    sim::world world_;
    judge judge_;
    resource numbers_;
    std::unique_ptr<backend> store_;
    shop_floor floor_;
    std::vector<sim::process*> shops_;
    std::unique_ptr<nemesis> nemesis_;
};

}  // namespace

sim_outcome run_scenario(const std::string& store, std::uint64_t seed, bool trace) {
    return run(store, seed, trace).go();
}

}  // namespace mortise::test
