// SPDX-License-Identifier: BSL-1.0
#include "sim/txn_scenario.hpp"

#include "chaos/looked_at_file.hpp"
#include "mortise/sim/world.hpp"
#include "sim/txn_floor.hpp"
#include "sim/txn_nemesis.hpp"
#include "sim/txn_site.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr minutes peace_max{5};
constexpr hours aftermath{6};  // until the last repeated message has come

class txn_run {
public:
    txn_run(std::uint64_t seed, bool trace) : world_(seed), floor_(world_) {
        if (trace)
            world_.listen([this](clock::time_point when, std::string_view text) {
                print(when, text);
            });
        floor_.disk.sleeps = false;
        const std::size_t count = 1 + world_.random().below(3);
        for (std::size_t i = 0; i < count; ++i) {
            auto name = "coordinator " + std::to_string(i);
            sites_.push_back(
                i == 0 ? &world_.add_process(std::move(name))
                       : &world_.add_process(std::move(name), *sites_[0])
            );
            sites_.back()->run([this](sim::process& self) { return txn_site::main(floor_, self); });
        }
        nemesis_ = std::make_unique<txn_nemesis>(world_, sites_, floor_);
    }
    ~txn_run() { world_.end(); }
    txn_run(const txn_run&) = delete;
    txn_run& operator=(const txn_run&) = delete;

    txn_sim_outcome go() {
        try {
            chaos();
            peace();
            if (floor_.verdict.empty())
                judge();
        } catch (const std::exception& escaped) {
            floor_.fail(std::string("an exception escaped: ") + escaped.what());
        }
        txn_sim_outcome out;
        out.verdict = floor_.verdict;
        out.event_hash = world_.event_hash();
        out.steps = world_.steps();
        for (const auto& [number, confirmed] : floor_.outcomes)
            ++(confirmed ? out.confirmed : out.cancelled);
        out.errors = floor_.errors;
        out.faults = nemesis_->faults();
        return out;
    }

private:
    void print(clock::time_point when, std::string_view text) const {
        const std::chrono::duration<double> at = when.time_since_epoch();
        std::printf("%10.6f %.*s\n", at.count(), static_cast<int>(text.size()), text.data());
    }

    bool judged() const { return !floor_.verdict.empty(); }

    void chaos() {
        const auto span = world_.random().between(seconds(3), seconds(12));
        nemesis_->rage_until(world_.now() + span);
        world_.run_until([this] { return judged(); }, span);
        world_.run_for(seconds(1));
    }

    void peace() {
        nemesis_->stop();
        floor_.chaos = false;
        const auto all = [this] { return judged() || floor_.finished.size() == sites_.size(); };
        if (!world_.run_until(all, peace_max)) {
            floor_.fail(
                "only " + std::to_string(floor_.finished.size()) + " of " +
                std::to_string(sites_.size()) + " coordinators found everything at its end"
            );
        }
        if (!judged())
            world_.run_for(aftermath);
    }

    void judge() {
        std::set<std::int64_t> confirmed;
        {
            const looked_at_file file(floor_.log());
            auto on = file.connect();
            auto row = on.query("SELECT number FROM mortise_txn WHERE state = 2");
            while (row.step())
                confirmed.insert(row.integer(0));
        }
        floor_.verdict += judge_books(floor_.here.read(), floor_.there.read(), confirmed);
        for (const auto& [number, was_confirmed] : floor_.outcomes) {
            if (confirmed.contains(static_cast<std::int64_t>(number)) != was_confirmed)
                floor_.fail(std::to_string(number) + " was told otherwise");
        }
    }

    sim::world world_;
    txn_floor floor_;
    std::vector<sim::process*> sites_;
    std::unique_ptr<txn_nemesis> nemesis_;
};

}  // namespace

txn_sim_outcome run_txn_scenario(std::uint64_t seed, bool trace) {
    return txn_run(seed, trace).go();
}

}  // namespace mortise::test
