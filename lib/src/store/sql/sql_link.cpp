// SPDX-License-Identifier: BSL-1.0
#include "store/sql/sql_link.hpp"

#include "core/entry_views.hpp"

#include <limits>
#include <utility>

namespace mortise::store_detail {

sql_link::sql_link(std::shared_ptr<sql_gateway> gateway, reconnect_pauses pauses)
    : session_link(std::move(pauses)),
      gateway_(std::move(gateway)),
      // Leaves four bits to the server's statements, of which the first is a sign.
      stamp_(random_id::draw().low >> 4) {}

void sql_link::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    const std::weak_ptr weak(std::static_pointer_cast<sql_link>(shared_from_this()));
    gateway_->start(
        strand,
        time,
        [weak](const sql_push& push) {
            if (const auto self = weak.lock())
                self->hear(push);
        },
        [weak] {
            if (const auto self = weak.lock())
                self->connection_closed();
        }
    );
    session_link::attach(std::move(strand), events, std::move(time));
}

void sql_link::begin_session() {
    key_ = 0;
    own_.clear();
    if (host_)
        host_->open(session().id);
}

void sql_link::ended() noexcept {
    end_session();
    if (host_)
        host_->close();
}

void sql_link::leave() noexcept {
    detach();
    if (host_)
        host_->close();
}

asio::awaitable<error_code> sql_link::open_connection() {
    return gateway_->connect();
}

asio::awaitable<result<resumed>> sql_link::prove() {
    const auto sent = now();
    auto proving = gateway_->prove(session());
    const auto proof = co_await std::move(proving);
    if (!proof)
        co_return proof.error();
    key_ = proof->key;
    domain_ = proof->domain;
    auto looking = gateway_->entries(key_, std::numeric_limits<std::size_t>::max());
    const auto found = co_await std::move(looking);
    if (!found)
        co_return found.error();
    if (!found->alive)
        co_return error_code(errc::session_lost);
    resumed reply;
    reply.sent = sent;
    reply.incarnation = proof->incarnation;
    reply.domain = domain_;
    reply.view = view_of(*found, domain_);
    reply.quarantine = proof->quarantine;
    own_.learn(reply.view);
    co_return reply;
}

asio::awaitable<result<lock_turn>> sql_link::session_turn(std::string name) {
    const auto kept = shared_from_this();
    const auto meant = session().id;
    auto asking = turn(std::move(name));
    auto mine = co_await std::move(asking);
    if (session().id != meant)
        co_return error_code(errc::outcome_unknown);
    co_return result<lock_turn>(std::move(mine));
}

asio::awaitable<error_code>
sql_link::of_session(std::uint64_t used, asio::awaitable<error_code> call) {
    const auto kept = shared_from_this();
    if (used == 0)
        co_return errc::store_unavailable;
    const error_code failed = co_await std::move(call);
    co_return failed ? judge(used, failed) : failed;
}

// The call may have arrived or not; the server refuses it once it has seen the next generation.
error_code sql_link::judge(std::uint64_t used, const error_code& failed) {
    if (!is_current(used))
        return errc::outcome_unknown;
    if (failed == errc::outcome_unknown)
        replace_connection();
    return failed;
}

// A push for an earlier session of this link says nothing of the present one.
void sql_link::hear(const sql_push& push) {
    if (push.to != key_)
        return;
    own_.hear(push);
    tell_now(core::event_of(push, domain_));
}

session_view view_of(const sql_entries& found, const token_domain& domain) {
    session_view view;
    view.changes = found.changes;
    for (const auto& [entry, contended] : found.places)
        view.entries.push_back(core::own_view(entry, domain, contended, found.now));
    return view;
}

}  // namespace mortise::store_detail
