// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_ENSEMBLE_FACTS_HPP
#define MORTISE_STORE_ZOOKEEPER_ENSEMBLE_FACTS_HPP

#include "mortise/store_types.hpp"
#include "store/zookeeper/server_words.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// What one server says of itself.
struct server_report {
    server_report() = default;

    std::string name;  ///< The server in messages.
    /// How many addresses its name has.
    std::size_t addresses = 0;
    std::string failure;                       ///< Why it serves nobody; empty if it does.
    std::chrono::milliseconds granted_min{0};  ///< The shortest time-out of a session.
    std::chrono::milliseconds granted_max{0};  ///< The longest one.
    std::optional<server_state> state;         ///< If it says so.
    std::optional<server_settings> settings;   ///< Likewise.
};

/// What is known of an ensemble once its servers have been asked. No I/O.
struct ensemble_facts {
    ensemble_facts() = default;

    std::vector<server_report> servers;    ///< Those that the settings of the store name.
    std::size_t voters = 0;                ///< As the ensemble itself knows; zero: a server alone.
    std::uint64_t epoch = 0;               ///< Of the newest write; zero: unknown.
    std::string missing;                   ///< The root, if nobody has made the store yet.
    std::chrono::milliseconds tick{0};     ///< By the settings of the store (`tick_ms`).
    std::chrono::milliseconds ttl{0};      ///< Of the session; zero: there is none.
    std::chrono::milliseconds timeout{0};  ///< Likewise, at the servers.
    bool login = false;                    ///< Whether nodes belong to a user.

    /// Says of each thing that the promises of the store rest on whether it is so.
    std::vector<store_finding> findings() const;

private:
    /// Compares the longest tick, told or guessed, with `tick`.
    store_finding judge_tick() const;
    /// Compares the longest time-out of a session with what TTLs need.
    store_finding judge_longest_ttl() const;
    /// Compares how long a silent leader is waited for with what TTLs bear.
    store_finding judge_elections() const;
    store_finding judge_ensemble() const;
    store_finding judge_servers() const;
    std::optional<store_finding> judge_connections() const;
};

}  // namespace mortise::store_detail

#endif
