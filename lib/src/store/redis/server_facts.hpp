// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SERVER_FACTS_HPP
#define MORTISE_STORE_REDIS_SERVER_FACTS_HPP

#include "mortise/fencing_token.hpp"
#include "store/redis/redis_failure.hpp"
#include "store/redis/redis_wire.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::store_detail {

/// The risks that the user of a store has accepted.
struct accepted_risks {
    accepted_risks() = default;

    bool eviction = false;         ///< The server may throw locks away.
    bool unseen_restarts = false;  ///< A restart that forgot locks may go unnoticed.
};

/// What a server tells of itself, as far as the promises of a store rest on it.
struct server_facts {
    server_facts() = default;

    bool known = false;  ///< The server told of itself (INFO).
    std::string version;
    std::string eviction_policy;
    std::string replicas_to_write;               ///< Empty: it may not be read.
    std::string append_fsync;                    ///< Empty: it may not be read.
    std::optional<bool> fsync_stops_on_rewrite;  ///< Empty: it may not be read.
    bool append_only = false;
    bool primary = true;
    std::uint64_t replicas = 0;
    bool flush_is_heard = false;  ///< The server tells when somebody flushes the database.

    /// Reads the answer to `INFO`: a report, or a refusal because this user may not have one. A
    /// lost connection, or a server that cannot answer just now, is a failure and says nothing
    /// about `known`.
    redis_failure read_answer(const result<redis_value>& answer);
    /// Reads a report of `INFO`.
    void read_info(std::string_view report);
    /// Reads the answer to `CONFIG GET`.
    void read_config(const redis_value& reply);

    /// Whether the server may evict our keys when its memory is full. A `volatile-` policy evicts
    /// only keys that have a time to live, which the keys of the queue form do not have.
    bool may_evict(bool keys_expire) const;

    /// Why the server cannot be used, apart from what was accepted; no code if it can.
    redis_failure judge(const accepted_risks& accepted, bool keys_expire) const;

    /// What the server's tokens are worth: `strict` only where nothing that was written is ever
    /// forgotten.
    token_strength strength() const noexcept;
};

}  // namespace mortise::store_detail

#endif
