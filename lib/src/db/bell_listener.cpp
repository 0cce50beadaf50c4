// SPDX-License-Identifier: BSL-1.0
#include "db/bell_listener.hpp"

#include "mortise/store_types.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/sockets.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace mortise::db::detail {
namespace {

using mortise::detail::unique_fd;
using sqlite_detail::failure_of_call;

unique_fd open_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        throw failure_of_call(errno, "making the folder of the bell", path);
    unique_fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!folder)
        throw failure_of_call(errno, "opening the folder of the bell", path);
    return folder;
}

// Blocks all signals while a thread is made: the program's signals belong to its own threads.
class signals_blocked {
public:
    signals_blocked() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;

private:
    sigset_t before_;
};

void drain(int socket) noexcept {
    std::array<char, 8> ignored;
    while (::recv(socket, ignored.data(), ignored.size(), MSG_DONTWAIT) >= 0 || errno == EINTR) {
    }
}

}  // namespace

// Resolves the path by one call if it can, since each ring needs it. The database may not exist
// yet.
std::string bell_folder(const std::filesystem::path& database) {
    constexpr const char* ending = ".bell";
    const std::unique_ptr<char, decltype(&std::free)> real(
        ::realpath(database.c_str(), nullptr), &std::free
    );
    if (real)
        return real.get() + std::string(ending);
    std::error_code unknown;
    const auto path = std::filesystem::weakly_canonical(database, unknown);
    return (unknown ? database : path).native() + ending;
}

bell_listener::bell_listener(
    asio::any_io_executor executor,
    const std::filesystem::path& database,
    std::function<void()> heard,
    bell_pulse pulse
)
    : executor_(std::move(executor)),
      path_(bell_folder(database)),
      heard_(std::move(heard)),
      pulse_(std::move(pulse)),
      folder_(open_folder(path_)),
      name_(random_id::draw().text()),
      socket_(sqlite_detail::make_socket(SOCK_DGRAM)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!socket_ || !stop_)
        throw failure_of_call(errno, "making a socket", path_);
    // Name the folder by its descriptor: the address of a socket holds a hundred bytes only.
    const sqlite_detail::socket_address address(
        "/proc/self/fd/" + std::to_string(folder_.get()) + '/' + name_
    );
    if (::bind(socket_.get(), address.get(), address.size()) != 0)
        throw failure_of_call(errno, "binding a socket", path_);
}

bell_listener::~bell_listener() {
    coro::detail::wait_service::unlink(*this);
    shut_down();
}

void bell_listener::start() {
    auto& context = asio::query(executor_, asio::execution::context);
    if (!coro::detail::wait_service::of(context).link(shared_from_this()))
        return;
    const signals_blocked quiet;
    try {
        thread_ = std::thread([this] { listen(); });
    } catch (const std::system_error& failed) {
        throw failure_of_call(failed.code().value(), "making a thread", path_);
    }
}

void bell_listener::close() noexcept {
    coro::detail::wait_service::unlink(*this);
    shut_down();
}

void bell_listener::shut_down() noexcept {
    closed_ = true;
    end_thread();
    if (socket_ && !process_.forked())
        ::unlinkat(folder_.get(), name_.c_str(), 0);
    socket_.reset();
}

void bell_listener::end_thread() noexcept {
    if (!thread_.joinable())
        return;
    if (process_.forked())
        return thread_.detach();  // The thread runs in the parent only.
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
}

void bell_listener::listen() noexcept {
    std::array<pollfd, 2> both{{{socket_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    constexpr std::chrono::milliseconds longest{std::numeric_limits<int>::max()};
    const auto interval = std::min(pulse_.interval, longest).count();
    const int wait = interval > 0 ? static_cast<int>(interval) : -1;
    for (;;) {
        const int ready = ::poll(both.data(), both.size(), wait);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0 || both[1].revents != 0)
            return;
        if (ready != 0)
            drain(socket_.get());
        tell(ready != 0);
    }
}

void bell_listener::tell(bool ring) noexcept {
    auto& under_way = ring ? told_ : beating_;
    if (under_way.exchange(true))
        return;
    try {
        asio::post(executor_, [weak = weak_from_this(), ring] {
            const auto self = weak.lock();
            if (!self || self->closed_)
                return;
            // First: a ring during the call needs one of its own.
            (ring ? self->told_ : self->beating_) = false;
            ring ? self->heard_() : self->pulse_.beat();
        });
    } catch (...) {
        under_way = false;  // No memory: it is lost, as any hint may be.
    }
}

}  // namespace mortise::db::detail
