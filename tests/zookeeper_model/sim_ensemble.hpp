// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_ZOOKEEPER_MODEL_SIM_ENSEMBLE_HPP
#define MORTISE_TESTS_ZOOKEEPER_MODEL_SIM_ENSEMBLE_HPP

#include "mortise/sim/process.hpp"
#include "store/zookeeper/ensemble_access.hpp"
#include "zookeeper_model/znode_tree.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::sim {
class world;
}

namespace mortise::zookeeper_model {

class sim_server;

struct ensemble_settings {
    std::chrono::milliseconds tick{100};
    std::chrono::milliseconds session_max{std::chrono::hours(48)};
    /// After so many ticks of silence leader and followers give each other up.
    int sync_limit = 5;
};

/// An ensemble of ZooKeeper servers in the network of a simulated world.
///
/// Its transactions are put into their order by a leader and are done when a majority has written
/// them down, by messages like those of Zab: a server that lags answers reads with what it has, and
/// a leader that was cut off serves until it notices. Only who becomes leader is decided by the
/// world itself, for the servers that look for one. Sessions are kept as there: a server tells the
/// leader with its answer to a ping who has said something.
///
/// @par Source  Junqueira, Reed, Serafini: Zab, DSN 2011; ZooKeeper 3.8 (LearnerSessionTracker,
///              PrepRequestProcessor, CommitProcessor, DataTree).
/// @par Threads The world's. Call `world::end` before the ensemble is destroyed.
class sim_ensemble {
public:
    sim_ensemble(sim::world& in, std::size_t servers, ensemble_settings how = {});
    ~sim_ensemble();
    sim_ensemble(const sim_ensemble&) = delete;
    sim_ensemble& operator=(const sim_ensemble&) = delete;

    sim::world& in() const noexcept { return world_; }
    const ensemble_settings& settings() const noexcept { return how_; }
    std::size_t size() const noexcept { return servers_.size(); }
    std::size_t quorum() const noexcept { return size() / 2 + 1; }
    sim_server& server(std::size_t index) { return *servers_.at(index); }
    /// The leader of the newest epoch; null: none is known.
    sim_server* leader();

    /// What names its servers in the settings of a store.
    std::vector<zookeeper_address> addresses() const;
    /// The server of an address as the store writes it; null: there is none.
    sim_server* find(const std::string& address);

    /// How the stores of a client reach it, in the present life of its process.
    store_detail::ensemble_access access(sim::process& client);

    /// The nodes as the server has them that knows most.
    const znode_tree& tree() const;
    /// Ends a session, as another client that knows its number can.
    void end_session(session_number id);

    // For its servers.
    std::uint64_t next_connection() noexcept { return ++connections_; }
    session_number new_session();
    /// That server looks for a leader.
    void look_for_leader();

private:
    void elect();
    bool reach(sim_server& one, sim_server& other) const;

    sim::world& world_;
    const ensemble_settings how_;
    std::vector<std::unique_ptr<sim_server>> servers_;
    std::uint64_t connections_ = 0;
    std::uint64_t epoch_ = 0;
    bool electing_ = false;
};

}  // namespace mortise::zookeeper_model

#endif
