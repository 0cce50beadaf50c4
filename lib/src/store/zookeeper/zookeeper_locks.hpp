// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_ZOOKEEPER_LOCKS_HPP
#define MORTISE_STORE_ZOOKEEPER_ZOOKEEPER_LOCKS_HPP

#include "store/zookeeper/lock_form.hpp"
#include "store/zookeeper/lock_state.hpp"
#include "store/zookeeper/lone_locks.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// The form of queues: the nodes of a session in the queues of locks, and what watches tell of
/// them.
///
/// A node that waits has a watch on the node before it. An exclusive holder writes its node while
/// it deletes it: whoever is behind it has the lock by that. Readers and permits are granted by a
/// write of their own nodes, which they watch, too. A holder for whose lock nobody waits watches
/// all children, to learn of the first that does.
///
/// @par Threads The strand.
class zookeeper_locks final : public lock_form {
public:
    using lock_form::lock_form;

    asio::awaitable<result<answer>> request(lock_request wish) override;
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override;
    asio::awaitable<result<bool>> release(grant held) override;
    asio::awaitable<released_and_asked> release_and_request(grant held, lock_request wish) override;
    asio::awaitable<result<token_range>> draw(grant held) override;
    asio::awaitable<result<session_view>> look() override;

    void see(const zk_event& event) override;
    void reconnected() override;
    std::vector<zk_change> clear() override;

private:
    struct own_request {
        explicit own_request(request_id number, lock_mode kind) : id(number), mode(kind) {}

        void forget_watches() {
            before.clear();
            watched = will_watch = false;
        }

        const request_id id;
        const lock_mode mode;
        std::unique_ptr<path_room> room;  ///< Of its node.
        std::string node;                 ///< Empty: not known yet, nor whether it is there.
        std::string before;               ///< The node before it that is watched.
        bool takes_over = false;  ///< That one is exclusive: it hands the lock over by a change.
        bool watched = false;     ///< The node itself is watched,
        bool will_watch = false;  ///< or will be, in a moment.
        std::uint64_t base = 0;   ///< Of its token; of a reader that of the phase.
        std::uint64_t created = 0;
        std::uint32_t slot = 0;
        alarm later;          ///< For a look that most do not need.
        bool asking = false;  ///< The answer will tell, not an event.
        bool leaving = false;
        bool granted = false;
        bool contended = false;
        bool alone = false;  ///< Nobody stood behind it when its queue was read last.
        clock::time_point since;
    };
    struct own_lock {
        std::string name;
        std::string path;
        std::map<request_id, own_request> requests;
        lock_state seen;
        std::uint64_t creations = 0;       ///< How many nodes this session has made, or tried to.
        std::uint32_t creations_seen = 0;  ///< How many were made of all, by `seen`.
        std::uint64_t creations_then = 0;  ///< `creations` at that time.
        bool watched = false;              ///< A watch on all children is set.
        bool has_seen = false;
        bool tried = false;    ///< Another session has made a node since.
        bool reading = false;  ///< A read by `refresh` is under way.
        bool read_again = false;
    };
    struct reading {
        reading() = default;

        zk_reply_ptr list;  ///< Null: not asked for.
        zk_reply_ptr text;
        zk_reply_ptr watch;  ///< Of the parent.
        std::uint64_t number = 0;
        std::uint64_t creations = 0;
    };

    std::vector<std::pair<std::string, request_id>> leave_all() override;
    std::shared_ptr<zookeeper_locks> self() {
        return std::static_pointer_cast<zookeeper_locks>(shared_from_this());
    }
    own_lock& lock_of(const std::string& name);
    own_lock* find_lock(const std::string& name);
    own_request* find(const std::string& name, request_id id);
    std::vector<request_id> unknown_in(const std::string& name);
    void drop(const std::string& name, request_id id);
    std::string path_of(const own_lock& lock, const std::string& node) const {
        return lock.path + '/' + node;
    }
    fencing_token token_of(const own_request& mine) const;
    result<answer> answer_of(const std::string& name, request_id id);

    asio::awaitable<result<answer>> ask(const lock_request& wish);
    asio::awaitable<zk_answer> make_node(const std::string& name, request_id id, reading& begun);
    asio::awaitable<error_code> enter(const std::string& name, request_id id);
    asio::awaitable<error_code>
    join(const std::string& name, request_id id, const zk_answer& creation, reading under_way);
    asio::awaitable<result<answer>> conclude(const lock_request& wish, error_code entered);
    bool goes_in_one_step(const grant& held, const lock_request& wish);
    asio::awaitable<released_and_asked> exchange(const grant& held, const lock_request& wish);
    asio::awaitable<error_code>
    take_place(const std::string& name, request_id id, lock_state state);
    asio::awaitable<error_code> ask_again(const std::string& name, request_id id);
    asio::awaitable<error_code> find_node(const std::string& name, request_id id);
    asio::awaitable<result<bool>> leave(std::string name, request_id id);
    asio::awaitable<result<bool>> pass_on(const std::string& name, request_id id);
    asio::awaitable<result<bool>> advance(std::string name, std::string without);
    asio::awaitable<result<bool>>
    grant_due(std::string name, lock_state state, std::string without);
    asio::awaitable<result<std::uint64_t>> base_of(std::string name, queue_node node);

    reading start_reading(const std::string& name, bool watch, bool with_text);
    asio::awaitable<result<lock_state>> read(std::string name, bool watch, bool with_text);
    asio::awaitable<result<lock_state>> finish_reading(std::string name, reading under_way);
    asio::awaitable<result<lock_state>>
    see_new_node(std::string name, request_id id, std::string node, reading under_way);
    void note_reading(
        own_lock& lock,
        const lock_state& state,
        std::uint32_t creations,
        std::uint64_t own_creations
    );
    static bool wants_list(const own_lock& lock);
    static bool wants_text(const own_lock& lock);
    void hear_of_change(own_lock& lock, const std::string& node);
    static bool ends_a_wait(const own_lock& lock, const std::string& node);

    void refresh(const std::string& name);
    asio::awaitable<void> run_refresh(std::shared_ptr<zookeeper_locks> owner, std::string name);
    asio::awaitable<void> run_advance(std::shared_ptr<zookeeper_locks> owner, std::string name);
    bool judge_all(const std::string& name);
    void watch_before(const std::string& name, own_request& mine);
    void watch_own(const std::string& name, own_request& mine);
    void watch_own_later(const std::string& name, own_request& mine);
    void read_queue_later(const std::string& name, own_request& mine);
    template <class Then>
    void do_later(const std::string& name, own_request& mine, clock::duration pause, Then then);
    asio::awaitable<void>
    hear_of_before(std::shared_ptr<zookeeper_locks> owner, std::string name, zk_reply_ptr before);
    asio::awaitable<void> hear_of_own(
        std::shared_ptr<zookeeper_locks> owner, std::string name, request_id id, zk_reply_ptr own
    );
    void read_grant(const own_lock& lock, own_request& mine, const std::string& text);
    void grant_to(own_lock& lock, own_request& mine, std::uint64_t base, std::uint32_t slot);
    bool others_behind(const own_lock& lock, const own_request& mine) const;
    void tell(store_event::kind type, const own_request& mine, bool contended);

    std::map<std::string, own_lock> locks_;
    lone_locks lone_;
    std::uint64_t readings_ = 0;
};

}  // namespace mortise::store_detail

#endif
