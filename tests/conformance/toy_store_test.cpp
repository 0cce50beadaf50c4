// SPDX-License-Identifier: BSL-1.0
// The store that docs/stores/adding.md adds: all of its locks are in one map of this process.
#include "conformance/detachable_store.hpp"
#include "conformance/port_conformance.hpp"
#include "core/entry_views.hpp"
#include "core/lock_engine.hpp"
#include "core/session_rules.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "store/drawn_bases.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace mortise::test {
namespace {

using core::lock_engine;
using core::lock_entry;
using core::session_key;

// [rows]
/// What the server remembers, as the lock engine reads and writes it.
class toy_server final : public core::lock_rows {
public:
    std::optional<lock_entry>
    next(std::string_view name, bool granted, std::uint64_t after) override {
        auto at = entries.upper_bound({std::string(name), after});
        for (; at != entries.end() && at->second.name == name; ++at) {
            if (at->second.granted == granted)
                return at->second;
        }
        return std::nullopt;
    }
    std::optional<lock_entry> next_ended(clock::time_point at) override {
        return any([&](const lock_entry& each) { return each.ends() <= at; });
    }
    std::optional<lock_entry> any_of(session_key key) override {
        return any([&](const lock_entry& each) { return each.session == key; });
    }
    void insert(const lock_entry& entry) override { entries[{entry.name, entry.ordinal}] = entry; }
    void grant(const lock_entry& entry) override { insert(entry); }
    void erase(const lock_entry& entry) override { entries.erase({entry.name, entry.ordinal}); }
    core::presence presence_of(session_key key) override {
        const auto found = sessions.find(key);
        const bool gone = found == sessions.end() || core::is_over(found->second.deadline, now);
        return gone ? core::presence::gone : core::presence::alive;
    }
    void mark_dead(session_key key) override {
        if (const auto found = sessions.find(key); found != sessions.end())
            found->second.deadline = clock::time_point::min();
    }
    void forget(session_key key) override { sessions.erase(key); }
    void changed(session_key key, std::int64_t, std::int64_t, bool by_other) override {
        if (const auto found = sessions.find(key); by_other && found != sessions.end())
            ++found->second.changes;
    }
    std::uint64_t draw_bases(std::uint64_t count) override {
        return std::exchange(next_base, next_base + count);
    }
    bool quarantined() override { return false; }  // It forgets nothing while anybody can ask it.

    struct session {
        session_start start;
        clock::time_point deadline;
        std::uint64_t changes = 0;
        std::function<void(const store_event&)> push;
    };
    /// By lock, in the order of their arrival.
    std::map<std::pair<std::string, std::uint64_t>, lock_entry> entries;
    std::map<session_key, session> sessions;
    session_key last_key = 0;
    std::uint64_t next_base = 1;
    clock::time_point now;  ///< Set before each use of the engine.
    const random_id incarnation = random_id::draw();
    const token_domain domain = *token_domain::parse("toy");

private:
    std::optional<lock_entry> any(const std::function<bool(const lock_entry&)>& fits) const {
        for (const auto& [place, entry] : entries) {
            if (fits(entry))
                return entry;
        }
        return std::nullopt;
    }
};
// [rows]

constexpr std::size_t reaped_at_once = 64;

// [store]
class toy_store final : public store {
public:
    explicit toy_store(std::shared_ptr<toy_server> server) : at_(std::move(server)) {}
    ~toy_store() override { detach(); }

    store_traits traits() const noexcept override {
        store_traits traits;
        traits.scheme = "toy";
        traits.push = traits.fair = traits.server_clock = true;
        traits.shared = traits.permits = traits.hold_max = true;
        traits.records = traits.quarantine = false;
        traits.ttl_min = std::chrono::milliseconds(10);
        traits.ttl_max = std::chrono::hours(1);
        return traits;
    }
    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        events_ = std::make_shared<store_events*>(&events);
        push_ = [strand = std::move(strand), to = events_](const store_event& event) {
            asio::post(strand, [to, event] {
                if (*to != nullptr)
                    (*to)->on_store_event(event);
            });
        };
        time_ = std::move(time);
    }
    void detach() noexcept override {
        if (events_)
            *events_ = nullptr;
    }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        at_->now = time_->now();
        const auto known = start.id == start_.id ? terms() : std::nullopt;
        const auto verdict = core::judge_resume(known, start.generation, at_->now);
        if (verdict == core::resumption::refused)
            co_return error_code(errc::session_lost);
        if (verdict == core::resumption::begins)
            key_ = ++at_->last_key;
        start_ = std::move(start);
        auto& session = at_->sessions[key_];
        session.start = start_;
        session.deadline = core::deadline_after(at_->now, start_.ttl);
        session.push = push_;
        resumed reply;
        reply.sent = at_->now;
        reply.incarnation = at_->incarnation;
        reply.domain = at_->domain;
        reply.view = view();
        co_return reply;
    }
    asio::awaitable<error_code> end() override {
        at_->now = time_->now();
        lock_engine engine(*at_, at_->now);
        for (std::size_t budget = reaped_at_once; !engine.reap(key_, budget);)
            budget = reaped_at_once;
        tell(engine, 0);
        co_return error_code();
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        auto reply = act<answer>(request.id, [&](auto& by) { return by.request(key_, request); });
        if (reply && reply->token)
            reply->token.domain = at_->domain.of_slot(reply->slot);
        co_return reply;
    }
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        const auto done = act<bool>(0, [&](auto& by) { return by.withdraw(key_, name, id); });
        co_return done ? error_code() : done.error();
    }
    asio::awaitable<result<bool>> release(grant held) override {
        const auto slot = held.token.domain.slot_in(at_->domain);
        co_return act<bool>(0, [&](auto& by) {
            return slot && by.release(key_, {held.name, held.id, held.token.value, *slot});
        });
    }
    asio::awaitable<result<token_range>> draw(grant held) override {
        const auto slot = held.token.domain.slot_in(at_->domain);
        co_return act<token_range>(0, [&](auto& by) -> result<token_range> {
            constexpr auto count = store_detail::bases_drawn;
            const auto base =
                slot ? by.draw(key_, {held.name, held.id, held.token.value, *slot}, count)
                     : error_code(errc::lease_lost);
            if (!base)
                return base.error();
            return store_detail::tokens_of(*base, held.token.domain);
        });
    }
    asio::awaitable<result<heartbeat>> beat(proof_number) override {
        co_return act<heartbeat>(0, [&](auto& by) { return beat_by(by); });
    }
    asio::awaitable<result<session_view>> look(proof_number) override {
        co_return act<session_view>(0, [&](auto&) { return view(); });
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        at_->now = time_->now();
        std::vector<lock_view> views;
        for (const auto& [place, entry] : at_->entries) {
            if (entry.name <= after || entry.ends() <= at_->now ||
                at_->presence_of(entry.session) == core::presence::gone)
                continue;
            if (views.empty() || views.back().name != entry.name) {
                if (views.size() == limit)
                    break;
                views.emplace_back().name = entry.name;
            }
            const auto& owner = at_->sessions[entry.session];
            if (auto* list = core::place_in(views.back(), entry.granted, queue_max))
                list->push_back(
                    core::party_of(entry, owner.start, owner.deadline, at_->domain, at_->now)
                );
        }
        co_return views;
    }
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        const auto all = co_await list({}, at_->entries.size(), queue_max);
        for (const lock_view& each : *all) {
            if (each.name == name)
                co_return each;
        }
        co_return std::optional<lock_view>();
    }
    asio::awaitable<result<bool>> break_(break_order order) override {
        at_->now = time_->now();
        lock_engine engine(*at_, at_->now);
        const auto slot = order.token.domain.slot_in(at_->domain);
        const bool broken = slot && engine.break_grants(order.name, order.token.value, *slot) != 0;
        tell(engine, 0);
        co_return broken;
    }
    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        std::vector<store_finding> found(3);
        found[0].subject = "reach";
        found[0].found = "Locks are kept in the memory of this process, for its own clients only.";
        found[1].subject = "tokens";
        found[1].found = "Tokens begin again with each process.";
        found[2].subject = "sessions";
        found[2].found = std::to_string(at_->sessions.size()) + " clients are alive.";
        co_return found;
    }

private:
    /// Runs an operation of the engine, if this store may act for its session.
    template <class T>
    result<T> act(request_id answered, const std::function<result<T>(lock_engine&)>& operation) {
        at_->now = time_->now();
        const auto known = terms();
        if (!known || !core::may_act(*known, start_.generation, at_->now))
            return error_code(errc::session_lost);
        lock_engine engine(*at_, at_->now);
        auto reply = operation(engine);
        tell(engine, answered);
        return reply;
    }
    std::optional<core::session_terms> terms() const {
        const auto own = at_->sessions.find(key_);
        if (own == at_->sessions.end())
            return std::nullopt;
        return core::session_terms{own->second.start.generation, own->second.deadline};
    }

    /// Proves the session, and frees a portion of what nobody has a right to any longer.
    heartbeat beat_by(lock_engine& engine) {
        at_->sessions[key_].deadline = core::deadline_after(at_->now, start_.ttl);
        std::size_t budget = reaped_at_once;
        bool more = !engine.expire(budget);
        core::next_deadline next(at_->now);
        for (auto each = at_->sessions.begin(); each != at_->sessions.end();) {
            const auto [key, session] = *each++;
            if (core::is_over(session.deadline, at_->now))
                more = !engine.reap(key, budget) || more;
            else if (key != key_)
                next.consider(session.deadline);
        }
        heartbeat reply;
        for (const auto& [place, entry] : at_->entries) {
            if (entry.session == key_)
                ++(entry.granted ? reply.grants : reply.requests);
            else
                next.consider(entry.ends());
        }
        reply.sent = at_->now;
        reply.incarnation = at_->incarnation;
        reply.changes = at_->sessions[key_].changes;
        reply.next_deadline = more ? clock::duration::zero() : next.left();
        return reply;
    }

    /// Pushes what the engine did for sessions, except a grant that the answer reports.
    void tell(lock_engine& engine, request_id answered) {
        for (const auto& effect : engine.take_effects()) {
            const bool known = effect.to == key_ && effect.id == answered &&
                               effect.type == store_event::kind::granted;
            if (const auto to = at_->sessions.find(effect.to); !known && to != at_->sessions.end())
                to->second.push(core::event_of(effect, at_->domain));
        }
    }

    session_view view() const {
        session_view view;
        view.changes = at_->sessions[key_].changes;
        for (const auto& [place, entry] : at_->entries) {
            const bool waited_for = at_->others_wait(entry.name, key_);
            if (entry.session == key_)
                view.entries.push_back(core::own_view(entry, at_->domain, waited_for, at_->now));
        }
        return view;
    }

    const std::shared_ptr<toy_server> at_;
    std::shared_ptr<store_events*> events_;
    std::function<void(const store_event&)> push_;
    std::shared_ptr<coro::time_source> time_;
    session_start start_;
    session_key key_ = 0;
};
// [store]

/// The toy store in virtual time.
class toy_harness final : public store_harness {
public:
    static store_abilities abilities() {
        store_abilities all;
        all.traits = toy_store(nullptr).traits();
        all.loses_replies = all.simulates_time = true;
        return all;
    }

    std::unique_ptr<store> make_store() override {
        return make_detachable(std::make_unique<toy_store>(server_), line_);
    }
    asio::any_io_executor executor() override { return context_.get_executor(); }
    std::shared_ptr<coro::time_source> time() override { return time_; }
    bool simulates_time() const override { return true; }
    bool steps_are_cheap() const override { return true; }
    std::chrono::milliseconds ttl() const override { return std::chrono::milliseconds(3'000); }
    bool answers_at_once() const override { return true; }
    bool run_until(const std::function<bool()>& done, clock::duration limit) override {
        const auto end = time_->now() + limit;
        time_->run_while(context_, [&] { return !done() && time_->now() < end; });
        return done();
    }
    std::size_t residue() override { return server_->sessions.size() + server_->entries.size(); }
    void lose_replies(std::size_t count) override { line_->replies_to_lose = count; }

private:
    asio::io_context context_;
    std::shared_ptr<coro::virtual_time> time_ =
        std::make_shared<coro::virtual_time>(context_.get_executor());
    std::shared_ptr<toy_server> server_ = std::make_shared<toy_server>();
    std::shared_ptr<faulty_line> line_ = std::make_shared<faulty_line>();
};

MORTISE_ALL_SUITES(Toy, toy_harness)

}  // namespace
}  // namespace mortise::test
