// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_REDLOCK_REQUESTS_HPP
#define MORTISE_STORE_REDLOCK_REDLOCK_REQUESTS_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/store.hpp"
#include "mortise/store_types.hpp"
#include "mortise/token_domain.hpp"
#include "store/redlock/node_group.hpp"
#include "store/redlock/vote_returns.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// A request or a grant of a client of Redlock.
struct redlock_entry {
    enum class stage : std::uint8_t {
        asking,      ///< Its first ballots are not decided yet.
        unanswered,  ///< Too few nodes have answered: it is asked for again, or withdrawn.
        waiting,
        held,
        leaving,  ///< Its release or its withdrawal has begun.
    };

    redlock_entry(
        const asio::any_io_executor& strand, request_id request, std::string lock, ballot first
    )
        : id(request), name(std::move(lock)), asked(std::move(first)), driven_to_end(strand) {}

    request_at_node at_node() const { return {name, asked}; }

    /// What the client is told of a request that waits or is granted. Nobody knows how many wait
    /// elsewhere: a request that waits has the holder before it.
    answer as_answer() const {
        answer reply;
        reply.type = at == stage::held ? answer::kind::granted : answer::kind::queued;
        reply.token = token;
        reply.number = number;
        reply.contended = contended;
        reply.position = at == stage::held ? 0 : 1;
        return reply;
    }
    store_event as_event(store_event::kind type) const {
        store_event event;
        event.type = type;
        event.number = number;
        event.id = id;
        event.token = token;
        event.contended = contended;
        return event;
    }
    session_entry view(clock::time_point now) const {
        session_entry shown;
        shown.id = id;
        shown.name = name;
        shown.granted = at == stage::held;
        shown.number = number;
        shown.token = token;
        shown.contended = contended;
        if (shown.granted)
            shown.age = now - since;
        return shown;
    }

    const request_id id;
    const std::string name;
    ballot asked;
    stage at = stage::asking;
    bool driven = false;  ///< Its ballots are being driven on.
    coro::event driven_to_end;
    /// Of a grant.
    fencing_token token;
    proof_number number = 0;
    bool is_kept = false;             ///< The set of that number counts it.
    std::vector<std::size_t> voters;  ///< The nodes that still have their vote for it.
    clock::time_point since;
    bool contended = false;
};

/// The session of a client of Redlock: its requests, whose ballots it drives, and its grants, each
/// with the nodes that keep it.
///
/// @par Threads The strand.
class redlock_requests final : public std::enable_shared_from_this<redlock_requests>,
                               private node_watcher {
public:
    redlock_requests(std::shared_ptr<node_group> nodes, const token_domain& tokens);

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    );
    void detach() noexcept;

    // The operations of the port.
    asio::awaitable<result<resumed>> resume(session_start start);
    asio::awaitable<error_code> end();
    asio::awaitable<result<answer>> request(lock_request request);
    asio::awaitable<error_code> withdraw(std::string name, request_id id);
    asio::awaitable<result<bool>> release(grant held);
    asio::awaitable<result<heartbeat>> beat(proof_number number);
    asio::awaitable<result<session_view>> look(proof_number number);
    asio::awaitable<result<token_range>> draw(grant held);

private:
    using entry_ptr = std::shared_ptr<redlock_entry>;
    using stage = redlock_entry::stage;
    using verdict = ballot::verdict;

    void look_at(std::size_t node) override;
    void node_forgot(std::size_t node) override;
    void node_told(std::size_t node, const node_message& message) override;
    void node_proved(std::size_t node) override;
    void node_votes(std::size_t node) override;

    clock::time_point now() const noexcept { return nodes_->now(); }
    entry_ptr find(request_id id) const;
    std::vector<entry_ptr> all_entries() const;
    bool is_current(const entry_ptr& entry) const;
    error_code check_session() const noexcept;
    void tell(const store_event& event, const std::vector<entry_ptr>& with = {});
    static store_event loss_of(proof_number number) {
        store_event event;
        event.type = store_event::kind::session_lost;
        event.number = number;
        event.why = errc::session_lost;
        return event;
    }
    void tell_lost(proof_number number, const std::vector<entry_ptr>& with = {});
    void lose_session();
    void drop(const entry_ptr& entry);
    void lose_entries(const std::vector<entry_ptr>& lost);
    void free_all(const std::vector<entry_ptr>& lost);
    void retire_sets();
    void notice_unwanted();
    asio::awaitable<error_code> resume_first(session_start start);
    result<resumed> prove_set(proof_number number) const;

    asio::awaitable<verdict> drive(entry_ptr entry, verdict next);
    asio::awaitable<void> ask_all(entry_ptr entry);
    asio::awaitable<void> yield(entry_ptr entry);
    void ask_one(const node_group::round_ptr& round, const entry_ptr& entry, std::size_t node);
    void take_answer(
        const entry_ptr& entry,
        std::size_t node,
        const ballot::question& asked,
        const result<redis_value>& reply
    );
    void stir(const entry_ptr& entry);
    asio::awaitable<void> drive_waiter(std::shared_ptr<redlock_requests> self, entry_ptr entry);
    answer hold(const entry_ptr& entry);
    bool tell_contended(const entry_ptr& entry);
    void note_vote_lost(const entry_ptr& entry);
    asio::awaitable<void> catch_up();
    void check_grants(const node_group::round_ptr& round, std::size_t node);

    const std::shared_ptr<node_group> nodes_;
    const token_domain tokens_;
    const std::shared_ptr<vote_returns> returns_;
    asio::any_io_executor strand_;
    store_events* events_ = nullptr;
    session_start session_;
    bool has_session_ = false;
    bool is_over_ = false;  ///< The session is gone: everything is refused.
    std::string owner_;     ///< The name of the client at all nodes.
    random_id incarnation_;
    std::map<request_id, entry_ptr> entries_;
    std::uint64_t changes_ = 0;
    std::vector<node_group::round_ptr> looks_;  ///< Questions after gaps in the words of nodes.
    std::uint64_t last_order_ = 0;
    /// When the client last wanted a proof of the set of that number, or got a grant of it.
    std::map<proof_number, clock::time_point> wanted_;
};

}  // namespace mortise::store_detail

#endif
