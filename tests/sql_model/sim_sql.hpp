// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SQL_MODEL_SIM_SQL_HPP
#define MORTISE_TESTS_SQL_MODEL_SIM_SQL_HPP

#include "mortise/sim/process.hpp"
#include "mortise/store.hpp"
#include "sql_model/sql_tables.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace mortise::sim {
class world;
}

namespace mortise::sql_model {

/// What a server process shares with the gateways of its clients.
class sim_database {
public:
    explicit sim_database(sim::process& host);

    sim::process& host() noexcept { return host_; }
    sql_tables& tables() noexcept { return tables_; }
    clock::time_point now() const noexcept { return host_.local_now(); }

    /// Where the pushes of a session go from now on.
    void listen(session_key key, sql_tables::notify_function deliver) {
        listeners_[key] = std::move(deliver);
    }
    void lose_pushes(std::size_t count) noexcept { pushes_to_lose_ = count; }
    void close_short_ways(bool closed) noexcept { short_ways_closed_ = closed; }
    bool short_ways_closed() const noexcept { return short_ways_closed_; }
    std::uint64_t next_locker() noexcept { return ++lockers_; }

    /// What a test counts, and what it makes go wrong.
    struct tally {
        std::size_t transactions = 0;
        std::size_t row_locks = 0;       ///< Loads that took one.
        std::size_t writes_to_lose = 0;  ///< So many compared writes find another stamp.
    };
    tally& counts() noexcept { return counts_; }

private:
    void notify(const store_detail::sql_push& push);

    sim::process& host_;
    std::map<session_key, sql_tables::notify_function> listeners_;
    std::size_t pushes_to_lose_ = 0;
    bool short_ways_closed_ = false;
    std::uint64_t lockers_ = 0;
    tally counts_;
    sql_tables tables_;
};

/// A SQL server in the network of a simulated world. Each call of its gateways is one message and
/// one transaction: it may be late or lost, but as over TCP it is done once at most.
///
/// @par Threads The world's. Call `world::end` before the server is destroyed.
class sim_sql {
public:
    sim_sql(sim::world& in, std::string name);

    /// A store for a client in the present life of that process.
    std::unique_ptr<store>
    make_store(sim::process& client, clock::duration call_max = std::chrono::milliseconds(400));

    sim::process& host() noexcept { return base_->host(); }

    /// Kills the process, with all calls that it has not answered, and starts it again later.
    /// @param with_memory whether it stops in good order; else the tables that are not logged are
    ///                    empty.
    void restart_after(clock::duration down, bool with_memory);

    void lose_pushes(std::size_t count) { base_->lose_pushes(count); }
    /// Makes every operation go the general way.
    void close_short_ways(bool closed) { base_->close_short_ways(closed); }

    /// Makes the next `count` compared writes lose, as if others had been faster.
    void lose_writes(std::size_t count) { base_->counts().writes_to_lose = count; }
    std::size_t transactions() const { return base_->counts().transactions; }
    std::size_t row_locks() const { return base_->counts().row_locks; }

    /// Both zero when nothing was left behind.
    std::size_t sessions() const { return base_->tables().sessions(); }
    std::size_t parties() const { return base_->tables().parties(); }
    std::size_t doubles() const { return base_->tables().doubles(); }

private:
    std::shared_ptr<sim_database> base_;
};

}  // namespace mortise::sql_model

#endif
