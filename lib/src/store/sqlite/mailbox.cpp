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

using wait_type = asio::posix::stream_descriptor::wait_type;

// A session is watched by its three predecessors, and by more while sessions come and go.
constexpr std::size_t guests_max = 256;
constexpr std::size_t drain_max = 1024;

// Whether the other side of a connection is closed. It never sends anything that matters.
bool ended(int fd) noexcept {
    std::array<char, 64> ignored;
    for (int i = 0; i < 16; ++i) {
        const auto got = ::recv(fd, ignored.data(), ignored.size(), MSG_DONTWAIT);
        if (got == 0)
            return true;
        if (got < 0 && errno == ECONNRESET)  // Closed before it had accepted.
            return true;
        if (got < 0 && errno != EINTR)
            return false;
    }
    return false;
}

void close_now(asio::posix::stream_descriptor& descriptor) noexcept {
    error_code ignored;
    descriptor.close(ignored);
}

}  // namespace

mailbox::peer::peer(const asio::any_io_executor& strand, neighbour_link link)
    : identity(link.peer), connection(strand, link.connection.release()) {}

mailbox::mailbox(asio::any_io_executor strand, mailbox_events& events, core::session_key session)
    : strand_(std::move(strand)),
      events_(&events),
      session_(session),
      inbox_(strand_),
      life_(strand_) {}

void mailbox::open(session_sockets sockets) {
    inbox_.assign(sockets.inbox.release());
    life_.assign(sockets.life.release());
    inbox_max_ = sockets.inbox_max;
    await_hints();
    resume_accepting();
}

void mailbox::close() noexcept {
    events_ = nullptr;
    for (const auto& each : watched_)
        close_now(each->connection);
    watched_.clear();
    close_now(inbox_);
    for (const auto& each : guests_)
        close_now(*each);
    guests_.clear();
    close_now(life_);  // Last, because the session lives as long as this listens.
}

std::vector<neighbour> mailbox::watched() const {
    std::vector<neighbour> peers;
    for (const auto& each : watched_)
        peers.push_back(each->identity);
    return peers;
}

void mailbox::apply(neighbour_plan plan) {
    if (!events_)
        return;
    std::erase_if(watched_, [&](const std::shared_ptr<peer>& each) {
        const bool wanted =
            std::find(plan.wanted.begin(), plan.wanted.end(), each->identity) != plan.wanted.end();
        if (!wanted)
            close_now(each->connection);
        return !wanted;
    });
    for (auto& each : plan.fresh) {
        const auto known = watched();
        if (std::find(known.begin(), known.end(), each.peer) != known.end())
            continue;
        watched_.push_back(std::make_shared<peer>(strand_, std::move(each)));
        await_silence(watched_.back());
    }
}

void mailbox::await_hints() {
    inbox_.async_wait(wait_type::wait_read, [weak = weak_from_this()](error_code failed) {
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
    if (accepting_ || !events_)
        return;
    accepting_ = true;
    await_guests();
}

void mailbox::await_guests() {
    life_.async_wait(wait_type::wait_read, [weak = weak_from_this()](error_code failed) {
        const auto self = weak.lock();
        if (!self || !self->events_ || failed)
            return;
        self->accept_guests();
        if (self->accepting_)
            self->await_guests();
    });
}

void mailbox::accept_guests() {
    while (guests_.size() < guests_max) {
        const int fd =
            ::accept4(life_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            guests_.push_back(std::make_shared<descriptor>(strand_, fd));
            await_end_of_guest(guests_.back());
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno != EAGAIN)
            accepting_ = false;  // Out of descriptors: stop until the next heartbeat.
        return;
    }
    accepting_ = false;
}

void mailbox::await_end_of_guest(const std::shared_ptr<descriptor>& guest) {
    guest->async_wait(wait_type::wait_read, [weak = weak_from_this(), guest](error_code failed) {
        const auto self = weak.lock();
        if (!self || !self->events_ || failed)
            return;
        if (!ended(guest->native_handle()))
            return self->await_end_of_guest(guest);
        self->guests_.remove(guest);
        self->resume_accepting();
    });
}

void mailbox::await_silence(const std::shared_ptr<peer>& watched) {
    watched->connection.async_wait(
        wait_type::wait_read,
        [weak = weak_from_this(), watched](error_code failed) {
            const auto self = weak.lock();
            if (!self || !self->events_ || failed)
                return;
            if (!ended(watched->connection.native_handle()))
                return self->await_silence(watched);
            std::erase(self->watched_, watched);
            self->events_->on_silence(watched->identity);
        }
    );
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
