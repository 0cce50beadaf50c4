// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_REDLOCK_EXAMINATION_HPP
#define MORTISE_STORE_REDLOCK_REDLOCK_EXAMINATION_HPP

#include "mortise/store_types.hpp"
#include "store/redis/redis_wire.hpp"
#include "store/redis/server_facts.hpp"
#include "store/redlock/node_group.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// What is known of a node once it has been asked. No I/O.
struct examined_node {
    examined_node() = default;

    std::string name;
    std::string failure;  ///< Why it could not be asked.
    bool reached = false;
    server_facts facts;
    bool is_new = false;  ///< It has no record of the store.
    bool knows_counters = false;
    std::chrono::milliseconds quarantine{};  ///< How much of it is left.
    std::uint64_t sessions = 0;
    std::size_t nodes = 0;  ///< How many nodes the store has, by its record.

    /// Reads the answers to `HMGET id knows until nodes` and `TIME`. @return whether they are some.
    bool read_record(const redis_value& record, const redis_value& time);
};

/// Says of each thing that the promises of the store rest on whether it is so.
std::vector<store_finding> redlock_findings(const std::vector<examined_node>& nodes);

/// Asks all nodes for what `redlock_findings` judges.
///
/// @par Threads The strand.
class redlock_examination final : public std::enable_shared_from_this<redlock_examination> {
public:
    explicit redlock_examination(std::shared_ptr<node_group> nodes) : nodes_(std::move(nodes)) {}

    asio::awaitable<std::vector<store_finding>> run();

private:
    asio::awaitable<void>
    ask(std::shared_ptr<redlock_examination> self, node_group::round_ptr round, std::size_t node);

    const std::shared_ptr<node_group> nodes_;
    std::vector<examined_node> found_;
};

}  // namespace mortise::store_detail

#endif
