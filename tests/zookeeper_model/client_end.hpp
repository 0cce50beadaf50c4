// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_ZOOKEEPER_MODEL_CLIENT_END_HPP
#define MORTISE_TESTS_ZOOKEEPER_MODEL_CLIENT_END_HPP

#include "zookeeper_model/sim_connection.hpp"
#include "zookeeper_model/watch_table.hpp"
#include "zookeeper_model/znode_tree.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::zookeeper_model {

/// The first words of a client on a connection.
struct greeting {
    session_number session = 0;  ///< Zero: a new one.
    std::chrono::milliseconds timeout{0};
    zxid seen = 0;  ///< The last transaction that it knows of.
};

/// What a client asks for.
struct zk_request {
    enum class kind : std::uint8_t { change, get, list };

    kind type = kind::change;
    std::vector<zk_step> steps;
    bool several = false;
    std::string path;
    bool watch = false;
};

/// What a server says to a client. It is called in the client's process.
class client_end {
public:
    virtual ~client_end() = default;

    /// Zero: the session has ended.
    virtual void take_session(
        const connection_ptr& by, session_number session, std::chrono::milliseconds timeout
    ) = 0;
    /// The answer to the oldest request.
    virtual void take_answer(const connection_ptr& by, zk_answer answer, zxid seen) = 0;
    /// It does not say which transaction that was.
    virtual void take_event(const connection_ptr& by, zk_event event) = 0;
    virtual void take_pong(const connection_ptr& by) = 0;

protected:
    client_end() = default;
    client_end(const client_end&) = default;
    client_end& operator=(const client_end&) = default;
};

}  // namespace mortise::zookeeper_model

#endif
