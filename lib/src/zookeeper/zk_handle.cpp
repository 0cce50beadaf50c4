// SPDX-License-Identifier: BSL-1.0
#include "zookeeper/zk_handle.hpp"

#include "zookeeper/zk_driving.hpp"
#include "zookeeper/zk_error.hpp"
#include "zookeeper/zk_socket.hpp"

#include <boost/asio/post.hpp>

#include <sys/socket.h>
#include <sys/time.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

namespace mortise::zookeeper_detail {
namespace {

// A quarter of what servers take (`jute.maxbuffer`), if nobody sets that lower.
constexpr std::size_t watch_bytes_max = 256 * 1'024;

using wait_type = asio::posix::stream_descriptor::wait_type;

int size_of(const std::string& bytes) noexcept {
    return static_cast<int>(bytes.size());
}

}  // namespace

zk_handle::zk_handle(
    asio::any_io_executor strand, std::shared_ptr<coro::time_source> time, config how, listener to
)
    : strand_(std::move(strand)),
      time_(std::move(time)),
      how_(std::move(how)),
      to_(std::move(to)),
      socket_(strand_) {}

zk_handle::~zk_handle() {
    close();
}

zhandle_t* zk_handle::make_raw(zhandle_t* before) {
    const driving now(this);
    auto* const session = ::zookeeper_init2(
        how_.servers.c_str(),
        &zk_handle::on_event,
        static_cast<int>(how_.timeout.count()),
        before ? ::zoo_client_id(before) : nullptr,
        self_.get(),
        0,
        &zk_handle::on_words
    );
    if (!session)
        return nullptr;
    ::zoo_set_servers_resolution_delay(session, -1);
    if (!how_.login.empty())
        ::zoo_add_auth(session, "digest", how_.login.data(), size_of(how_.login), nullptr, nullptr);
    return session;
}

error_code zk_handle::open() {
    self_ = std::make_unique<std::weak_ptr<zk_handle>>(weak_from_this());
    raw_ = make_raw(nullptr);
    if (!raw_) {
        const int reason = errno;
        return reason == EINVAL ? error_code(errc::bad_url)
                                : error_code(reason, boost::system::system_category());
    }
    pump_soon();
    return {};
}

// The client sets all watches again with one message, and a server ends the connection that sends
// it a longer one than `jute.maxbuffer`, each time. Without a connection the old one waits for
// nothing when it is closed. The new one has seen nothing, so that a server that lags behind takes
// it, too: its user writes something before it reads.
void zk_handle::renew() {
    auto* const fresh = make_raw(raw_);
    if (!fresh)
        return pump_soon();
    watch_bytes_ = 0;
    socket_.forget();
    const driving now(this);
    ::zookeeper_close(std::exchange(raw_, fresh));
    pump_soon();
}

// Tells what watches have seen. Called by the client from inside of its calls.
void zk_handle::on_event(zhandle_t*, int type, int, const char* path, void* context) {
    const auto self = static_cast<std::weak_ptr<zk_handle>*>(context)->lock();
    if (!self || self->closed_)
        return;
    if (type == ZOO_SESSION_EVENT)
        return;  // Without a connection the client keeps this news to itself: it is asked.
    zk_event event;
    if (type == ZOO_CREATED_EVENT)
        event.type = zk_event::kind::created;
    else if (type == ZOO_DELETED_EVENT)
        event.type = zk_event::kind::deleted;
    else if (type == ZOO_CHILD_EVENT)
        event.type = zk_event::kind::children;
    else if (type != ZOO_CHANGED_EVENT)
        return;
    event.path = path ? path : "";
    self->watch_bytes_ -= std::min(self->watch_bytes_, event.path.size());
    self->tell([of = self.get(), event = std::move(event)] {
        if (!of->closed_)
            of->to_.seen(event);
    });
}

void zk_handle::note_state() {
    const int state = ::zoo_state(raw_);
    auto now = zk_state::connecting;
    if (state == ZOO_CONNECTED_STATE)
        now = zk_state::connected;
    else if (state == ZOO_EXPIRED_SESSION_STATE)
        now = zk_state::expired;
    else if (state == ZOO_AUTH_FAILED_STATE)
        now = zk_state::refused;
    const auto before = std::exchange(state_, now);
    if (now == before)
        return;
    renews_ = before == zk_state::connected && now == zk_state::connecting &&
              watch_bytes_ > watch_bytes_max;
    tell([this, now] {
        if (!closed_)
            to_.changed(now);
    });
}

void zk_handle::on_words(const char* words) {
    const std::string_view text(words ? words : "");
    if (driven && driven->to_.remembered && text.find("ZOO_ERROR") != std::string_view::npos)
        driven->to_.remembered(std::string(text));
}

void zk_handle::pump_soon() {
    if (std::exchange(pumping_, true))
        return;
    asio::post(strand_, [self = shared_from_this()] {
        self->pumping_ = false;
        self->pump();
    });
}

// Asks the client what it waits for, and waits for that.
void zk_handle::pump() {
    if (closed_ || !raw_)
        return;
    if (std::exchange(renews_, false))
        return renew();
    socket_.send_gathered();
    int fd = -1;
    int interest = 0;
    timeval most{};
    const auto before = time_->now();
    const auto number = socket_.number();
    {
        const driving now(this);
        // A failure is not one of the handle: the client goes on with its next server.
        static_cast<void>(::zookeeper_interest(raw_, &fd, &interest, &most));
    }
    note_state();
    if (renews_)
        return pump_soon();
    if (::is_unrecoverable(raw_) != ZOK) {
        socket_.forget();
        return due_.cancel();
    }
    const bool followed = socket_.follow(fd);
    if (socket_.number() != number)
        connecting_since_ = before;
    auto pause = std::chrono::seconds(most.tv_sec) + std::chrono::microseconds(most.tv_usec);
    if (!followed)  // no descriptor is left: look again soon
        pause = std::min<std::chrono::microseconds>(pause, std::chrono::milliseconds(100));
    const auto floor = socket_.any() ? std::chrono::milliseconds(1) : std::chrono::milliseconds(10);
    look_again_at(time_->now() + std::max<std::chrono::microseconds>(pause, floor));
    if (socket_.any())
        wait(interest);
}

// An alarm that is set for an earlier time comes here again: to set one for each operation would
// cost more than the operation.
void zk_handle::look_again_at(clock::time_point at) {
    if (due_.is_set() && due_at_ <= at)
        return;
    due_at_ = at;
    due_.set(*time_, strand_, at, [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->process(0);
    });
}

void zk_handle::wait(int interest) {
    const auto once = [this](bool& waits, wait_type way, int event) {
        if (std::exchange(waits, true))
            return;
        socket_.wait(
            way,
            [self = shared_from_this(), &waits, event, of = socket_.number()](const error_code&) {
                waits = false;
                if (self->socket_.number() == of)
                    self->process(event);
                else
                    self->pump();
            }
        );
    };
    if ((interest & ZOOKEEPER_READ) != 0)
        once(reading_, wait_type::wait_read, ZOOKEEPER_READ);
    if ((interest & ZOOKEEPER_WRITE) != 0)
        once(writing_, wait_type::wait_write, ZOOKEEPER_WRITE);
}

// Handlers run before the client is asked what it waits for: what they ask for in turn goes out
// with that one call.
void zk_handle::process(int events) {
    if (closed_ || !raw_)
        return;
    const auto kept = shared_from_this();
    std::vector<news> all;
    gathered_ = &all;
    {
        const driving now(this);
        // Told to read before it is connected, the client forgets the memory that it reads into.
        if (::zoo_state(raw_) == ZOO_CONNECTING_STATE)
            events &= ~ZOOKEEPER_READ;
        // It answers `ZINVALIDSTATE` without a connection, too: that is no end of the session.
        static_cast<void>(::zookeeper_process(raw_, events));
    }
    note_state();
    gathered_ = nullptr;
    const bool pumped_soon = std::exchange(pumping_, true);
    const bool later = posted_ != 0;
    for (auto& each : all) {
        const news next = std::exchange(each, nullptr);
        if (later)
            tell(next);
        else
            next();
    }
    pumping_ = pumped_soon;
    pump();
}

void zk_handle::tell(news handler) {
    if (gathered_)
        return gathered_->push_back(std::move(handler));
    ++posted_;
    asio::post(strand_, [self = shared_from_this(), handler = std::move(handler)] {
        --self->posted_;
        handler();
    });
}

zk_state zk_handle::state() const noexcept {
    return state_;
}

bool zk_handle::connected() const noexcept {
    return raw_ && state_ == zk_state::connected && ::zoo_state(raw_) == ZOO_CONNECTED_STATE;
}

std::int64_t zk_handle::session() const noexcept {
    const auto* const id = raw_ ? ::zoo_client_id(raw_) : nullptr;
    return id ? id->client_id : 0;
}

std::chrono::milliseconds zk_handle::timeout() const noexcept {
    return std::chrono::milliseconds(raw_ && session() != 0 ? ::zoo_recv_timeout(raw_) : 0);
}

std::string zk_handle::server() const {
    const client_turn turn;
    const char* const name = raw_ ? ::zoo_get_current_server(raw_) : nullptr;
    return name ? name : "";
}

// To say good-bye would wait for the server, in the middle of the event loop. So the socket is shut
// down, and the client told that it can be read: it has no connection then, and waits for nothing.
void zk_handle::close() noexcept {
    if (std::exchange(closed_, true))
        return;
    due_.cancel();
    const client_turn turn;
    const bool forked = process_.forked();
    int fd = -1;
    int interest = 0;
    timeval most{};
    auto* const raw = std::exchange(raw_, nullptr);
    if (raw && !forked && state_ == zk_state::connected &&
        ::zookeeper_interest(raw, &fd, &interest, &most) == ZOK && fd >= 0) {
        ::shutdown(fd, SHUT_RDWR);
        ::zookeeper_process(raw, ZOOKEEPER_READ);
    }
    socket_.forget();
    if (raw && !forked)
        ::zookeeper_close(raw);
    else if (raw)
        static_cast<void>(self_.release());  // The parent's client knows this place.
}

}  // namespace mortise::zookeeper_detail
