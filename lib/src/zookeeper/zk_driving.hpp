// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_ZOOKEEPER_ZK_DRIVING_HPP
#define MORTISE_ZOOKEEPER_ZK_DRIVING_HPP

#include <utility>

namespace mortise::zookeeper_detail {

class zk_handle;

/// Keeps other threads out of the client in this scope, unless one around it does so already. The
/// client without threads has one place for its words, its random numbers and the numbers of
/// its requests, for all sessions of the process; its calls are short and never wait.
///
/// @par Threads Any. A child that is forked by another thread may use it.
class client_turn {
public:
    client_turn();
    ~client_turn();
    client_turn(const client_turn&) = delete;
    client_turn& operator=(const client_turn&) = delete;

private:
    const bool outermost_;
};

/// The session that this thread drives at the moment. The client says its words on failures without
/// saying of which session they are.
inline thread_local zk_handle* driven = nullptr;

/// Calls of the client in this scope are for that session.
class driving {
public:
    explicit driving(zk_handle* now) : before_(std::exchange(driven, now)) {}
    ~driving() { driven = before_; }
    driving(const driving&) = delete;
    driving& operator=(const driving&) = delete;

private:
    const client_turn turn_;
    zk_handle* const before_;
};

}  // namespace mortise::zookeeper_detail

#endif
