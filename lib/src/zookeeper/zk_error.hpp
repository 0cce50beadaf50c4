// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_ZOOKEEPER_ZK_ERROR_HPP
#define MORTISE_ZOOKEEPER_ZK_ERROR_HPP

#include "mortise/error.hpp"

#include <type_traits>

namespace mortise::zookeeper_detail {

/// The codes of ZooKeeper that decide something here, as the C client names them.
enum class zk_code : int {
    /// An answer came out of turn, and the connection was given up: a server leaves the request of
    /// a session that has moved without one, and may answer the next. It may have been done.
    runtime_inconsistency = -2,
    connection_lost = -4,    ///< Before the answer: it may have been done.
    operation_timeout = -7,  ///< Likewise.
    invalid_state = -9,      ///< Nothing was sent: the session is over, or there is no connection.
    no_node = -101,
    no_auth = -102,
    bad_version = -103,
    no_children_for_ephemerals = -108,
    node_exists = -110,
    not_empty = -111,
    session_expired = -112,
    auth_failed = -115,
    closing = -116,
    nothing = -117,  ///< The server had nothing to say.
    session_moved = -118,
    not_read_only = -119,  ///< The server has no quorum, and takes no writes.
    ephemeral_on_local_session = -120,
    throttled = -127,  ///< Not done: the server has too much to do.
};

}  // namespace mortise::zookeeper_detail

template <>
struct boost::system::is_error_code_enum<mortise::zookeeper_detail::zk_code> : std::true_type {};

namespace mortise::zookeeper_detail {

/// The codes of ZooKeeper, with its words.
const boost::system::error_category& zookeeper_category() noexcept;

/// A result of the C client; no error if it is zero.
inline error_code zookeeper_error(int code) noexcept {
    return code == 0 ? error_code() : error_code(code, zookeeper_category());
}
inline error_code make_error_code(zk_code code) noexcept {
    return zookeeper_error(static_cast<int>(code));
}

/// Whether a write that ended so may have been done.
inline bool may_be_done(const error_code& code) noexcept {
    return code == zk_code::connection_lost || code == zk_code::operation_timeout ||
           code == zk_code::closing || code == zk_code::session_moved ||
           code == zk_code::runtime_inconsistency;
}

}  // namespace mortise::zookeeper_detail

#endif
