// SPDX-License-Identifier: BSL-1.0
#include "sim/txn_scenario.hpp"

#include "chaos/looked_at_file.hpp"
#include "mortise/sim/world.hpp"
#include "sim/txn_bank.hpp"
#include "sim/txn_floor.hpp"
#include "sim/txn_nemesis.hpp"
#include "sim/txn_site.hpp"
#include "sim/xa_bank.hpp"

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

std::unique_ptr<simulated_bank> reserving_bank(sim::world& in, std::string name) {
    return std::make_unique<txn_bank>(in, std::move(name));
}

// As PostgreSQL tells ages, and MariaDB does not.
std::unique_ptr<simulated_bank> telling_bank(sim::world& in, std::string name) {
    return std::make_unique<xa_bank>(in, std::move(name), xa_bank::ages::given);
}

std::unique_ptr<simulated_bank> silent_bank(sim::world& in, std::string name) {
    return std::make_unique<xa_bank>(in, std::move(name), xa_bank::ages::unknown);
}

class txn_run {
public:
    txn_run(std::uint64_t seed, txn_banks banks, bool trace)
        : world_(seed),
          floor_(
              world_,
              banks == txn_banks::prepare ? &telling_bank : &reserving_bank,
              banks == txn_banks::prepare && seed % 3 != 0 ? &silent_bank : &reserving_bank
          ) {
        if (trace)
            world_.listen([this](clock::time_point when, std::string_view text) {
                print(when, text);
            });
        floor_.disk.sleeps = false;
        if (banks == txn_banks::prepare)
            floor_.short_ways = seed % 4 == 0 ? 0.7 : 0.2;
        const std::size_t count = 1 + world_.random().below(3);
        for (std::size_t i = 0; i < count; ++i) {
            auto name = "coordinator " + std::to_string(i);
            sites_.push_back(
                i == 0 ? &world_.add_process(std::move(name))
                       : &world_.add_process(std::move(name), *sites_[0])
            );
            sites_.back()->run([this](sim::process& self) { return txn_site::main(floor_, self); });
        }
        nemesis_ =
            std::make_unique<txn_nemesis>(world_, sites_, floor_, banks == txn_banks::prepare);
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
        out.orphans = floor_.orphans + floor_.foreign;
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
        std::set<std::int64_t> known;
        {
            const looked_at_file file(floor_.log());
            auto on = file.connect();
            auto row = on.query("SELECT number, state FROM mortise_txn");
            while (row.step()) {
                known.insert(row.integer(0));
                if (row.integer(1) == 2)
                    confirmed.insert(row.integer(0));
            }
        }
        judge_prepared();
        const auto books = floor_.here->read();
        auto of_both = confirmed;
        for (const auto number : books.alone) {
            if (of_both.erase(number) != 0)
                continue;
            if (known.contains(number))
                floor_.fail(std::to_string(number) + " took place alone, but not by the log");
            // Else a power failure has lost it from the log, which nothing forced.
            confirmed.insert(number);
        }
        floor_.verdict += judge_books(books, floor_.there->read(), of_both);
        for (const auto& [number, was_confirmed] : floor_.outcomes) {
            if (confirmed.contains(static_cast<std::int64_t>(number)) != was_confirmed)
                floor_.fail(std::to_string(number) + " was told otherwise");
        }
    }

    void judge_prepared() {
        const auto all = [this](std::uint64_t log) {
            return floor_.here->prepared_of(log) + floor_.there->prepared_of(log);
        };
        if (floor_.log_id != 0 && all(floor_.log_id) != 0)
            floor_.fail(std::to_string(all(floor_.log_id)) + " branches are left prepared");
        const auto foreign = all(txn_floor::foreign_log);
        if (foreign != floor_.foreign)
            floor_.fail("a branch of another log was touched");
    }

    sim::world world_;
    txn_floor floor_;
    std::vector<sim::process*> sites_;
    std::unique_ptr<txn_nemesis> nemesis_;
};

}  // namespace

txn_sim_outcome run_txn_scenario(std::uint64_t seed, txn_banks banks, bool trace) {
    return txn_run(seed, banks, trace).go();
}

}  // namespace mortise::test
