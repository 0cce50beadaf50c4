// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_SENTINEL_SET_HPP
#define MORTISE_TESTS_SUPPORT_SENTINEL_SET_HPP

#include "support/redis_server.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// A primary, two replicas, and three sentinels that watch over them and know each other. They take
/// a primary for dead if it says nothing for some 1.2 s.
///
/// @par Threads As redis_server.
class sentinel_set {
public:
    /// The name of the primary at the sentinels.
    static constexpr const char* name = "mortise-test";

    /// `chosen` goes to the three servers, which must admit clients without a password.
    /// @throws std::runtime_error if they do not find each other
    explicit sentinel_set(const redis_server::settings& chosen = {});

    redis_server& server(std::size_t index) { return *servers_.at(index); }
    redis_server& sentinel(std::size_t index) { return *sentinels_.at(index); }
    std::vector<std::uint16_t> sentinel_ports() const;

    /// The server that most sentinels call the primary and that takes itself for it, too; null if
    /// there is none at the moment.
    redis_server* primary();

    /// Asks a sentinel to let a replica take over from a primary that is alive.
    void failover();

    /// Kills the primary. @return that server, which may be started again
    redis_server& kill_primary();

    /// Waits until most sentinels name another primary than `old`, and it is one.
    /// @throws std::runtime_error
    redis_server& wait_for_new_primary(const redis_server& old);

private:
    void start_sentinels();
    bool complete();
    std::uint16_t named_primary();

    std::vector<std::unique_ptr<redis_server>> servers_;
    std::vector<std::unique_ptr<redis_server>> sentinels_;
};

}  // namespace mortise::test

#endif
