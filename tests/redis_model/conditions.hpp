// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_CONDITIONS_HPP
#define MORTISE_TESTS_REDIS_MODEL_CONDITIONS_HPP

#include <set>
#include <string>

namespace mortise::redis_model {

/// The faults of a server, which tests switch on and off.
struct conditions {
    bool out_of_memory = false;  ///< Usage exceeds `maxmemory`, and nothing can be evicted.
    bool read_only = false;      ///< The server is a replica.
    bool loading = false;
    bool busy = false;  ///< A script of another client runs and does not end.
    /// The server cannot write its snapshots.
    bool disk_failed = false;
    std::string password;  ///< If not empty, clients must log in with it.
    /// The user may not use these: names of commands in small letters, and channels.
    std::set<std::string> forbidden_commands;
    std::set<std::string> forbidden_channels;
};

}  // namespace mortise::redis_model

#endif
