// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/mailbox.hpp"

#include "sqlite/sockets.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::session_sockets;

namespace {

constexpr std::size_t drain_max = 1024;

}  // namespace

mailbox::mailbox(asio::any_io_executor strand, mailbox_events& events, core::session_key session)
    : strand_(std::move(strand)), events_(&events), session_(session), inbox_(strand_) {}

void mailbox::open(session_sockets sockets) {
    life_ =
        std::make_shared<life_watch>(strand_, [weak = weak_from_this()](core::session_key silent) {
            const auto self = weak.lock();
            if (self && self->events_)
                self->lose(silent);
        });
    inbox_.assign(sockets.inbox.release());
    inbox_max_ = sockets.inbox_max;
    await_hints();
    life_->open(std::move(sockets.life));
}

void mailbox::close() noexcept {
    events_ = nullptr;
    watched_.clear();
    error_code ignored;
    inbox_.close(ignored);
    if (life_)
        life_->close();
}

void mailbox::apply(neighbour_plan plan) {
    if (!events_)
        return;
    std::erase_if(watched_, [&](const neighbour& each) {
        const bool wanted =
            std::find(plan.wanted.begin(), plan.wanted.end(), each) != plan.wanted.end();
        if (!wanted)
            life_->forget(each.key);
        return !wanted;
    });
    for (auto& each : plan.fresh) {
        if (std::find(watched_.begin(), watched_.end(), each.peer) != watched_.end())
            continue;
        watched_.push_back(each.peer);
        life_->watch(each.peer.key, std::move(each.connection));
    }
}

void mailbox::lose(core::session_key silent) {
    const auto found = std::find_if(watched_.begin(), watched_.end(), [&](const neighbour& each) {
        return each.key == silent;
    });
    if (found == watched_.end())
        return;
    const neighbour peer = *found;
    watched_.erase(found);
    events_->on_silence(peer);
}

void mailbox::await_hints() {
    inbox_.async_wait(descriptor::wait_read, [weak = weak_from_this()](error_code failed) {
        const auto self = weak.lock();
        if (!self || !self->events_ || failed)
            return;
        self->read_hints();
        if (self->events_)
            self->await_hints();
    });
}

void mailbox::read_hints() {
    std::vector<hint> hints;
    std::array<std::byte, hint_bytes + 1> datagram;
    std::size_t count = 0;
    while (count < drain_max) {
        const auto got =
            ::recv(inbox_.native_handle(), datagram.data(), datagram.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        ++count;
        const auto received = decode(std::span(datagram).first(static_cast<std::size_t>(got)));
        if (!received)
            ++malformed_;
        else if (received->session == session_)  // others are for an earlier owner of the slot
            hints.push_back(*received);
    }
    // A queue that was full may have turned hints away.
    if (count >= inbox_max_)
        hints.push_back({hint::kind::changed, session_, 0});
    if (!hints.empty())
        events_->on_hints(hints);
}

void mailbox::resume_accepting() {
    if (life_)
        life_->resume_accepting();
}

using sqlite_detail::probe;
using sqlite_detail::probe_life;

neighbour_plan plan_neighbours(const own_session& session, const std::vector<neighbour>& watched) {
    neighbour_plan plan;
    plan.wanted = session.successors();
    plan.unburied = session.unburied();
    for (const auto& each : plan.wanted) {
        if (std::find(watched.begin(), watched.end(), each) != watched.end())
            continue;
        auto tried = probe_life(session.folder(), each.nonce);
        if (tried.result == probe::outcome::connected) {
            plan.fresh.emplace_back();
            plan.fresh.back().peer = each;
            plan.fresh.back().connection = std::move(tried.connection);
        } else if (tried.result == probe::outcome::refused) {
            plan.dead.push_back(each);
        }
        // Any other outcome proves nothing: the next heartbeat tries again, and the TTL is the last
        // resort.
    }
    return plan;
}

}  // namespace mortise::store_detail
