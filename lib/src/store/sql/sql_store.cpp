// SPDX-License-Identifier: BSL-1.0
#include "core/planted_bug.hpp"
#include "store/break_note.hpp"
#include "store/drawn_bases.hpp"
#include "store/sql/lock_runner.hpp"
#include "store/sql/reaper.hpp"
#include "store/sql/short_ways.hpp"
#include "store/sql/sql_link.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace mortise {
namespace {

using store_detail::loaded_rows;
using store_detail::lock_runner;
using store_detail::reaper;
using store_detail::short_ways;
using store_detail::sql_actor;
using store_detail::sql_gateway;
using store_detail::sql_link;

class sql_store final : public store {
public:
    sql_store(std::shared_ptr<sql_link> link, bool watches_host)
        : watches_host_(watches_host),
          link_(std::move(link)),
          ways_(link_),
          runner_(link_),
          reaper_(std::make_shared<reaper>(link_)) {}
    ~sql_store() override { link_->leave(); }

    store_traits traits() const noexcept override { return link_->gateway().traits(); }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        link_->attach(std::move(strand), events, std::move(time));
        if (watches_host_)
            link_->watch_host([weak = std::weak_ptr(reaper_)](core::session_key silent) {
                if (const auto self = weak.lock())
                    self->bury(silent);
            });
    }

    void detach() noexcept override { link_->leave(); }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        auto opening = link_->open(std::move(start));
        auto reply = co_await std::move(opening);
        if (reply)
            reaper_->note_quarantine(reply->quarantine);
        co_return reply;
    }

    // Needs no connection of the session: an end whose answer was lost leaves a dead session, which
    // gets no connection any more, and whose locks and row are still there.
    asio::awaitable<error_code> end() override {
        auto settling = link_->settled();
        co_await std::move(settling);
        const auto actor = link_->actor();
        if (actor.key == 0)
            co_return errc::store_unavailable;
        const auto used = link_->in_use();
        auto ending =
            used != 0 ? link_->of_session(used, end_and_reap(actor)) : end_and_reap(actor);
        const error_code failed = co_await std::move(ending);
        if (!failed)
            link_->ended();
        co_return failed;
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        auto asking = link_->session_turn(request.name);
        const auto turn = co_await std::move(asking);
        if (!turn)
            co_return turn.error();
        auto deciding = decide(request);
        const auto reply = co_await std::move(deciding);
        ways_.note(request, reply);
        co_return reply;
    }

    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        auto asking = link_->session_turn(name);
        const auto turn = co_await std::move(asking);
        if (!turn)
            co_return turn.error();
        auto trying = ways_.withdraw(name, id);
        const auto done = co_await std::move(trying);
        if (!done)
            co_return done.error();
        if (!*done) {
            auto running = withdraw_generally(name, id);
            if (const error_code failed = co_await std::move(running))
                co_return failed;
        }
        link_->own().erase(id);
        co_return error_code();
    }

    asio::awaitable<result<bool>> release(grant held) override {
        auto asking = link_->session_turn(held.name);
        const auto turn = co_await std::move(asking);
        if (!turn)
            co_return turn.error();
        auto trying = ways_.release(held);
        const auto found = co_await std::move(trying);
        if (!found)
            co_return found.error();
        bool released = found->value_or(false);
        if (!*found) {
            auto running = release_generally(held);
            const auto reply = co_await std::move(running);
            if (!reply)
                co_return reply.error();
            released = *reply;
        }
        if (released)
            link_->own().erase(held.id);
        co_return released;
    }

    asio::awaitable<result<heartbeat>> beat(proof_number) override {
        const clock::time_point sent = link_->now();
        auto beating = link_->of_session(link_->in_use(), link_->gateway().beat(link_->actor()));
        const auto found = co_await std::move(beating);
        if (!found)
            co_return found.error();
        link_->compare_watching(found->watches);
        link_->look_at_host(found->nearest);
        reaper_->begin(*found);
        reaper_->note_quarantine(found->quarantine);
        heartbeat reply;
        reply.sent = sent;
        reply.incarnation = found->incarnation;
        reply.changes = found->changes;
        reply.quarantine = found->quarantine;
        reply.next_deadline = found->next_deadline;
        co_return reply;
    }

    asio::awaitable<result<session_view>> look(proof_number) override {
        const auto actor = link_->actor();
        constexpr auto all = std::numeric_limits<std::size_t>::max();
        auto looking = link_->of_session(link_->in_use(), link_->gateway().entries(actor.key, all));
        const auto found = co_await std::move(looking);
        if (!found)
            co_return found.error();
        if (!found->alive || found->generation > actor.generation)
            co_return error_code(errc::session_lost);
        auto view = store_detail::view_of(*found, link_->domain());
        if (link_->actor().key == actor.key)
            link_->own().learn(view);
        co_return view;
    }

    asio::awaitable<result<token_range>> draw(grant held) override {
        auto asking = link_->session_turn(held.name);
        const auto turn = co_await std::move(asking);
        if (!turn)
            co_return turn.error();
        const auto slot = held.token.domain.slot_in(link_->domain());
        if (!slot)
            co_return error_code(errc::lease_lost);
        result<std::uint64_t> base = error_code(errc::lease_lost);
        const auto own = link_->actor().key;
        lock_runner::operation work = [&](core::lock_engine& engine, loaded_rows&) {
            base = engine.draw(
                own, {held.name, held.id, held.token.value, *slot}, store_detail::bases_drawn
            );
        };
        auto running = run(held.name, 0, std::move(work));
        if (const error_code failed = co_await std::move(running))
            co_return failed;
        if (!base)
            co_return base.error();
        co_return store_detail::tokens_of(*base, held.token.domain);
    }

    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        auto asking = link_->session_turn(held.name);
        const auto turn = co_await std::move(asking);
        if (!turn)
            co_return turn.error();
        const auto slot = held.token.domain.slot_in(link_->domain());
        result<std::chrono::milliseconds> kept = error_code(errc::lease_lost);
        if (!slot)
            co_return kept;
        const auto own = link_->actor().key;
        lock_runner::operation work = [&](core::lock_engine& engine, loaded_rows&) {
            kept = engine.extend(own, {held.name, held.id, held.token.value, *slot}, hold_max);
        };
        auto running = run(held.name, 0, std::move(work));
        if (const error_code failed = co_await std::move(running))
            co_return failed;
        co_return kept;
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        constexpr std::size_t portion = 64;
        const auto link = link_;
        std::vector<lock_view> views;
        for (bool more = true; more && views.size() < limit;) {
            const std::size_t wanted = std::min(portion, limit - views.size());
            auto listing = link->gateway().list(after, wanted);
            const auto found = co_await std::move(listing);
            if (!found)
                co_return found.error();
            for (const auto& each : *found) {
                after = each.name;
                if (auto view = store_detail::view_of(each, queue_max))
                    views.push_back(std::move(*view));
            }
            more = found->size() == wanted;
        }
        co_return views;
    }

    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        const auto link = link_;
        auto loading =
            link->gateway().load(sql_actor(), std::move(name), store_detail::row_lock::none);
        const auto found = co_await std::move(loading);
        if (!found)
            co_return found.error();
        co_return store_detail::view_of(*found, queue_max);
    }

    asio::awaitable<result<bool>> break_(break_order order) override {
        bool broken = false;
        lock_runner::operation work = [&](core::lock_engine& engine, loaded_rows& rows) {
            broken = false;
            const auto slot = order.token.domain.slot_in(rows.loaded().domain);
            if (!slot)
                return;
            const auto parties = store_detail::holders_of(rows, order.token.value, *slot);
            const auto count = engine.break_grants(order.name, order.token.value, *slot);
            broken = count != 0;
            if (!broken)
                return;
            break_record record;
            record.at = store_detail::time_of_day();
            record.name = order.name;
            record.token = order.token;
            record.holder = store_detail::holders_text(parties, count);
            record.who = order.who;
            record.why = order.why;
            rows.note_break(std::move(record));
        };
        lock_runner runner(link_);
        auto running = runner.run_for_nobody(order.name, std::move(work));
        if (const error_code failed = co_await std::move(running))
            co_return failed;
        co_return broken;
    }

    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        return link_->gateway().breaks(std::move(name), limit);
    }

    asio::awaitable<error_code> watch() override {
        link_->begin_to_watch();
        return link_->of_session(link_->in_use(), link_->gateway().watch(link_->actor()));
    }

    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        return link_->gateway().examine();
    }

    std::string explain() const override { return link_->gateway().explain(); }

private:
    asio::awaitable<result<answer>> decide(lock_request request) {
        auto trying = ways_.request(request);
        const auto found = co_await std::move(trying);
        if (!found)
            co_return found.error();
        if (*found)
            co_return **found;
        result<answer> reply = answer();
        const auto own = link_->actor().key;
        lock_runner::operation work = [&](core::lock_engine& engine, loaded_rows&) {
            reply = engine.request(own, request);
        };
        auto running = run(request.name, request.id, std::move(work));
        if (const error_code failed = co_await std::move(running))
            co_return failed;
        if (reply && reply->token)
            reply->token.domain = link_->domain().of_slot(reply->slot);
        co_return reply;
    }

    asio::awaitable<error_code> withdraw_generally(std::string name, request_id id) {
        const auto own = link_->actor().key;
        lock_runner::operation work = [&](core::lock_engine& engine, loaded_rows&) {
            engine.withdraw(own, name, id);
        };
        auto running = run(name, 0, std::move(work));
        co_return co_await std::move(running);
    }

    asio::awaitable<result<bool>> release_generally(grant held) {
        const auto slot = held.token.domain.slot_in(link_->domain());
        if (!slot)
            co_return false;
        bool released = false;
        const auto own = link_->actor().key;
        lock_runner::operation work = [&](core::lock_engine& engine,
                                          [[maybe_unused]] loaded_rows& rows) {
            released = engine.release(own, {held.name, held.id, held.token.value, *slot});
            if (MORTISE_PLANTED(release_without_compare) && !released) {
                for (const auto& holder : rows.holders(held.name))
                    engine.release(
                        holder.session, {held.name, holder.id, holder.token, holder.slot}
                    );
            }
        };
        auto running = run(held.name, 0, std::move(work));
        if (const error_code failed = co_await std::move(running))
            co_return failed;
        co_return released;
    }

    // Runs an operation of the session of now: another one may have begun by the time that it reads
    // the lock.
    asio::awaitable<error_code>
    run(std::string name, request_id answered, lock_runner::operation work) {
        lock_runner::party by;
        by.actor = link_->actor();
        by.answered = answered;
        return link_->of_session(
            link_->in_use(), runner_.run(std::move(name), by, std::move(work))
        );
    }

    // Two transactions may wait for each other, and one of them is undone: it is tried again here,
    // since the next heartbeat of a session that is half ended finds it lost.
    asio::awaitable<error_code> end_and_reap(sql_actor actor) {
        constexpr int attempts_max = 4;
        error_code failed = errc::database_busy;
        for (int i = 0; failed == errc::database_busy && i < attempts_max; ++i) {
            auto ending = link_->gateway().end(actor);
            failed = co_await std::move(ending);
            if (failed)
                continue;
            auto reaping = reaper_->reap(actor.key);
            failed = co_await std::move(reaping);
        }
        co_return failed;
    }

    const bool watches_host_;
    std::shared_ptr<sql_link> link_;
    short_ways ways_;
    lock_runner runner_;
    std::shared_ptr<reaper> reaper_;
};

}  // namespace

namespace store_detail {

std::unique_ptr<store>
make_sql_store(std::shared_ptr<sql_gateway> gateway, reconnect_pauses pauses, bool watches_host) {
    return std::make_unique<sql_store>(
        std::make_shared<sql_link>(std::move(gateway), std::move(pauses)), watches_host
    );
}

}  // namespace store_detail

}  // namespace mortise
