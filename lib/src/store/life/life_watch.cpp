// SPDX-License-Identifier: BSL-1.0
#include "store/life/life_watch.hpp"

#include "mortise/error.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace mortise::store_detail {
namespace {

using wait_type = asio::posix::stream_descriptor::wait_type;

// A session is watched by its three predecessors, and by more while sessions come and go.
constexpr std::size_t guests_max = 256;

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

life_watch::life_watch(asio::any_io_executor strand, silence_function silence)
    : strand_(std::move(strand)), silence_(std::move(silence)), life_(strand_) {}

void life_watch::open(detail::unique_fd life) {
    life_.assign(life.release());
    resume_accepting();
}

void life_watch::close() noexcept {
    silence_ = nullptr;
    for (const auto& each : watched_)
        close_now(each->connection);
    watched_.clear();
    for (const auto& each : guests_)
        close_now(*each);
    guests_.clear();
    close_now(life_);  // Last, because the session lives as long as this listens.
}

void life_watch::watch(core::session_key session, detail::unique_fd connection) {
    if (!silence_)
        return;
    watched_.push_back(std::make_shared<peer>(strand_, session, connection.release()));
    await_silence(watched_.back());
}

void life_watch::forget(core::session_key session) noexcept {
    std::erase_if(watched_, [&](const std::shared_ptr<peer>& each) {
        if (each->session != session)
            return false;
        close_now(each->connection);
        return true;
    });
}

std::vector<core::session_key> life_watch::watched() const {
    std::vector<core::session_key> sessions;
    for (const auto& each : watched_)
        sessions.push_back(each->session);
    return sessions;
}

void life_watch::resume_accepting() {
    if (accepting_ || !silence_ || !life_.is_open())
        return;
    accepting_ = true;
    await_guests();
}

void life_watch::await_guests() {
    life_.async_wait(wait_type::wait_read, [weak = weak_from_this()](error_code failed) {
        const auto self = weak.lock();
        if (!self || !self->silence_ || failed)
            return;
        self->accept_guests();
        if (self->accepting_)
            self->await_guests();
    });
}

void life_watch::accept_guests() {
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

void life_watch::await_end_of_guest(const std::shared_ptr<descriptor>& guest) {
    guest->async_wait(wait_type::wait_read, [weak = weak_from_this(), guest](error_code failed) {
        const auto self = weak.lock();
        if (!self || !self->silence_ || failed)
            return;
        if (!ended(guest->native_handle()))
            return self->await_end_of_guest(guest);
        self->guests_.remove(guest);
        self->resume_accepting();
    });
}

void life_watch::await_silence(const std::shared_ptr<peer>& watched) {
    watched->connection.async_wait(
        wait_type::wait_read,
        [weak = weak_from_this(), watched](error_code failed) {
            const auto self = weak.lock();
            if (!self || !self->silence_ || failed)
                return;
            if (!ended(watched->connection.native_handle()))
                return self->await_silence(watched);
            std::erase(self->watched_, watched);
            const auto silence = self->silence_;  // It may close this.
            silence(watched->session);
        }
    );
}

}  // namespace mortise::store_detail
