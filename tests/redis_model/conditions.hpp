// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_CONDITIONS_HPP
#define MORTISE_TESTS_REDIS_MODEL_CONDITIONS_HPP

#include <set>
#include <string>

namespace mortise::redis_model {

/// What is wrong with a server: tests switch it on and off.
struct conditions {
    bool out_of_memory = false;  ///< More is used than `maxmemory`, and nothing can be evicted.
    bool read_only = false;      ///< It is a replica.
    bool loading = false;
    bool busy = false;  ///< A script of somebody else runs and does not end.
    /// Its snapshots cannot be written.
    bool disk_failed = false;
    std::string password;  ///< If not empty, clients must say it.
    /// What the user may not do: names of commands in small letters, and channels.
    std::set<std::string> forbidden_commands;
    std::set<std::string> forbidden_channels;
};

}  // namespace mortise::redis_model

#endif
