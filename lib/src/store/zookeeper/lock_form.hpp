// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_LOCK_FORM_HPP
#define MORTISE_STORE_ZOOKEEPER_LOCK_FORM_HPP

#include "store/link/lock_turns.hpp"
#include "store/zookeeper/zookeeper_link.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// Room for the path of a node among those of its session; given back with this object.
class path_room {
public:
    path_room(std::shared_ptr<std::size_t> taken, std::size_t bytes)
        : taken_(std::move(taken)), bytes_(bytes) {
        *taken_ += bytes_;
    }
    ~path_room() { *taken_ -= bytes_; }
    path_room(const path_room&) = delete;
    path_room& operator=(const path_room&) = delete;

private:
    const std::shared_ptr<std::size_t> taken_;
    const std::size_t bytes_;
};

/// What the session of a link asks for, in one of the forms in which nodes keep locks.
///
/// @par Threads The strand.
class lock_form : public std::enable_shared_from_this<lock_form> {
public:
    explicit lock_form(std::shared_ptr<zookeeper_link> link) : link_(std::move(link)) {}
    virtual ~lock_form() = default;
    lock_form(const lock_form&) = delete;
    lock_form& operator=(const lock_form&) = delete;

    // The operations of the port.
    virtual asio::awaitable<result<answer>> request(lock_request wish) = 0;
    virtual asio::awaitable<error_code> withdraw(std::string name, request_id id) = 0;
    virtual asio::awaitable<result<bool>> release(grant held) = 0;
    virtual asio::awaitable<released_and_asked> release_and_request(grant held, lock_request wish);
    virtual asio::awaitable<result<token_range>> draw(grant held) = 0;
    virtual asio::awaitable<result<session_view>> look() = 0;
    /// Releases and withdraws everything.
    asio::awaitable<error_code> end();

    /// How often others have changed something of the session.
    std::uint64_t changes() const noexcept { return changes_; }

    virtual void see(const zk_event& event) = 0;
    virtual void reconnected() = 0;
    /// Forgets everything. @return what deletes the nodes of the session, each by itself.
    virtual std::vector<zk_change> clear() = 0;

protected:
    /// All requests of the session. Nothing is told of them any more.
    virtual std::vector<std::pair<std::string, request_id>> leave_all() = 0;

    asio::awaitable<lock_turn> turn(std::string name) {
        return turns_->take(link_->executor(), std::move(name));
    }
    /// Room for a node whose path is `lock_path` and at most `more` bytes: null if the nodes of
    /// this session would have longer paths than one record of the servers bears, and the link
    /// remembers that.
    std::unique_ptr<path_room> take_room(const std::string& lock_path, std::size_t more);
    void count_change() noexcept { ++changes_; }
    /// Calls that wait for their turn must not begin any more, and nothing has changed since.
    void end_calls() noexcept {
        ++ends_;
        changes_ = 0;
    }
    /// How often all calls were ended. A request that finds another number than before, after its
    /// turn has come, is one of a session that is over, or of a client that stops.
    std::uint64_t ends() const noexcept { return ends_; }

    const std::shared_ptr<zookeeper_link> link_;

private:
    /// One of several that are under way together.
    struct withdrawal {
        explicit withdrawal(const asio::any_io_executor& strand) : done(strand) {}

        coro::event done;
        error_code failed;
    };

    asio::awaitable<void> run_withdrawal(
        std::shared_ptr<lock_form> self,
        std::string name,
        request_id id,
        std::shared_ptr<withdrawal> one
    );

    const std::shared_ptr<lock_turns> turns_ = std::make_shared<lock_turns>();
    const std::shared_ptr<std::size_t> path_bytes_ = std::make_shared<std::size_t>(0);
    std::uint64_t changes_ = 0;
    std::uint64_t ends_ = 0;
};

/// Queues of ephemeral, sequential nodes: all modes, in order (docs/adr/0040).
std::shared_ptr<lock_form> make_queue_form(std::shared_ptr<zookeeper_link> link);
/// One ephemeral node for a lock: exclusive, in no order (docs/adr/0041).
std::shared_ptr<lock_form> make_single_node_form(std::shared_ptr<zookeeper_link> link);

}  // namespace mortise::store_detail

#endif
