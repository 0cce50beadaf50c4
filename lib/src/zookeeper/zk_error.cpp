// SPDX-License-Identifier: BSL-1.0
#include "zookeeper/zk_error.hpp"

#include <zookeeper/zookeeper.h>

#include <string>

namespace mortise::zookeeper_detail {
namespace {

static_assert(static_cast<int>(zk_code::runtime_inconsistency) == ZRUNTIMEINCONSISTENCY);
static_assert(static_cast<int>(zk_code::connection_lost) == ZCONNECTIONLOSS);
static_assert(static_cast<int>(zk_code::operation_timeout) == ZOPERATIONTIMEOUT);
static_assert(static_cast<int>(zk_code::invalid_state) == ZINVALIDSTATE);
static_assert(static_cast<int>(zk_code::no_node) == ZNONODE);
static_assert(static_cast<int>(zk_code::no_auth) == ZNOAUTH);
static_assert(static_cast<int>(zk_code::bad_version) == ZBADVERSION);
static_assert(static_cast<int>(zk_code::no_children_for_ephemerals) == ZNOCHILDRENFOREPHEMERALS);
static_assert(static_cast<int>(zk_code::node_exists) == ZNODEEXISTS);
static_assert(static_cast<int>(zk_code::not_empty) == ZNOTEMPTY);
static_assert(static_cast<int>(zk_code::session_expired) == ZSESSIONEXPIRED);
static_assert(static_cast<int>(zk_code::auth_failed) == ZAUTHFAILED);
static_assert(static_cast<int>(zk_code::closing) == ZCLOSING);
static_assert(static_cast<int>(zk_code::nothing) == ZNOTHING);
static_assert(static_cast<int>(zk_code::session_moved) == ZSESSIONMOVED);
static_assert(static_cast<int>(zk_code::not_read_only) == ZNOTREADONLY);
static_assert(static_cast<int>(zk_code::ephemeral_on_local_session) == ZEPHEMERALONLOCALSESSION);
static_assert(static_cast<int>(zk_code::throttled) == ZTHROTTLEDOP);

class category_type final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mortise.zookeeper"; }
    std::string message(int code) const override { return ::zerror(code); }
};

}  // namespace

const boost::system::error_category& zookeeper_category() noexcept {
    static const category_type category;
    return category;
}

}  // namespace mortise::zookeeper_detail
