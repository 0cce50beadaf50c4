// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_SINGLE_NODE_LOCKS_HPP
#define MORTISE_STORE_ZOOKEEPER_SINGLE_NODE_LOCKS_HPP

#include "store/zookeeper/lock_form.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::store_detail {

/// The form of single nodes: a lock is held by the session that made its node. Whoever waits
/// watches that node, and tries to make it when it is gone, as all others do. The first that waits
/// writes into the node that somebody wants the lock; its holder watches for that.
///
/// The requests of a session for a lock stand in a line, of which the first alone may have the
/// node.
///
/// @par Threads The strand.
class single_node_locks final : public lock_form {
public:
    using lock_form::lock_form;

    asio::awaitable<result<answer>> request(lock_request wish) override;
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override;
    asio::awaitable<result<bool>> release(grant held) override;
    asio::awaitable<result<token_range>> draw(grant held) override;
    asio::awaitable<result<session_view>> look() override;

    void see(const zk_event& event) override;
    void reconnected() override;
    std::vector<zk_change> clear() override;

private:
    struct own_request {
        enum class stage {
            waiting,  ///< It has no node.
            unknown,  ///< Nobody knows whether it has one.
            held,
            leaving,  ///< Its node is being deleted.
        };

        explicit own_request(request_id number) : id(number) {}

        request_id id;
        std::unique_ptr<path_room> room;  ///< Of its node.
        stage at = stage::waiting;
        std::uint64_t created = 0;  ///< The transaction that made its node.
        /// The version of the node of breaks, which each break changes, at a time when the node was
        /// surely not broken: it is not, as long as that is the version. Empty: ask.
        std::optional<std::int32_t> breaks;
        bool asking = false;  ///< The answer will tell, not an event.
        bool contended = false;
        clock::time_point since;
    };
    using stage = own_request::stage;

    struct own_lock {
        std::string name;
        std::string path;
        std::list<own_request> line;
        /// The number of the session's newest attempt to change the node. No other lock has it, nor
        /// one that had this name before.
        std::uint64_t newest_write = 0;
        clock::time_point not_before;  ///< Others come first until then.
        bool free = false;             ///< There was no node when it was looked at last.
        bool refreshing = false;
        bool refresh_again = false;
        alarm later;
    };

    std::shared_ptr<single_node_locks> self() {
        return std::static_pointer_cast<single_node_locks>(shared_from_this());
    }
    std::vector<std::pair<std::string, request_id>> leave_all() override;

    own_lock& lock_of(const std::string& name);
    own_lock* find_lock(const std::string& name);
    own_request* find(const std::string& name, request_id id);
    own_request* find_held(const grant& held);
    void drop(const std::string& name, request_id id);
    void forget_if_unused(const std::string& name);
    fencing_token token_of(const own_request& mine) const {
        return {mine.created << fencing_token::sequence_bits, link_->domain()};
    }
    answer answer_of(const own_lock& lock, const own_request& mine) const;

    asio::awaitable<result<answer>> ask(const lock_request& wish);
    asio::awaitable<error_code> make_node(std::string name, request_id id, zk_reply_ptr sent);
    zk_reply_ptr send_creation(own_lock& lock, own_request& mine);
    asio::awaitable<result<bool>> leave(std::string name, request_id id);
    asio::awaitable<result<bool>> erase_node(std::string name, request_id id);
    zk_change release_of(const own_lock& lock, const own_request& mine, std::int32_t version) const;
    asio::awaitable<result<bool>> see_whether_there(std::string name, request_id id);

    asio::awaitable<error_code> look_at(std::string name);
    void judge(own_lock& lock, const zk_answer& node);
    void judge_first(own_lock& lock, const zk_answer& node);
    void note_hold(own_lock& lock, own_request& mine, std::uint64_t created);
    void note_wanted(own_request& mine);
    void ask_for(const own_lock& lock, const zk_answer& node);
    void tell(store_event::kind type, const own_request& mine, bool contended);
    void refresh(const std::string& name);
    void refresh_later(own_lock& lock, clock::duration pause);
    asio::awaitable<void> run_refresh(std::shared_ptr<single_node_locks> owner, std::string name);
    asio::awaitable<bool> refresh_once(std::string name);

    std::map<std::string, own_lock> locks_;
    std::uint64_t writes_ = 0;
    /// The newest version of the node of breaks that was read, for nodes that are made afterwards.
    std::optional<std::int32_t> breaks_;
};

}  // namespace mortise::store_detail

#endif
