// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_ZOOKEEPER_ZK_DRIVING_HPP
#define MORTISE_ZOOKEEPER_ZK_DRIVING_HPP

#include <utility>

namespace mortise::zookeeper_detail {

class zk_handle;

/// The session that this thread drives at the moment. The client says its words on failures without
/// saying of which session they are.
inline thread_local zk_handle* driven = nullptr;

/// Calls of the client in this scope are for that session.
class driving {
public:
    explicit driving(zk_handle* now) noexcept : before_(std::exchange(driven, now)) {}
    ~driving() { driven = before_; }
    driving(const driving&) = delete;
    driving& operator=(const driving&) = delete;

private:
    zk_handle* const before_;
};

}  // namespace mortise::zookeeper_detail

#endif
