// SPDX-License-Identifier: BSL-1.0
#include "store/life/host_watch.hpp"

#include "mortise/detail/unique_fd.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::store_detail {
namespace {

constexpr int backlog = 128;

/// The address of a session's socket. A leading zero makes the name abstract: no file is left
/// behind, whatever happens to the process.
class life_address {
public:
    explicit life_address(const session_id& session) {
        const std::string name = std::string(1, '\0') + "mortise." + session.text();
        static_assert(sizeof raw_.sun_path > 64);
        raw_.sun_family = AF_UNIX;
        name.copy(raw_.sun_path, sizeof raw_.sun_path);
        size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    }
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&raw_); }
    socklen_t size() const noexcept { return size_; }

private:
    sockaddr_un raw_{};
    socklen_t size_;
};

detail::unique_fd make_socket() noexcept {
    return detail::unique_fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

host_watch::host_watch(asio::any_io_executor strand, life_watch::silence_function silence)
    : strand_(std::move(strand)), silence_(std::move(silence)) {}

void host_watch::open(const session_id& session) {
    close();
    life_ = std::make_shared<life_watch>(strand_, silence_);
    const life_address own(session);
    auto socket = make_socket();
    if (socket && ::bind(socket.get(), own.get(), own.size()) == 0 &&
        ::listen(socket.get(), backlog) == 0)
        life_->open(std::move(socket));
}

void host_watch::close() noexcept {
    if (life_)
        life_->close();
    life_.reset();
}

void host_watch::look(const std::vector<host_neighbour>& nearest) {
    if (!life_)
        return;
    life_->resume_accepting();
    const auto watched = life_->watched();
    for (const auto key : watched) {
        if (std::none_of(nearest.begin(), nearest.end(), [key](const host_neighbour& each) {
                return each.key == key;
            }))
            life_->forget(key);
    }
    for (const auto& each : nearest) {
        if (std::find(watched.begin(), watched.end(), each.key) != watched.end())
            continue;
        const life_address address(each.id);
        auto connection = make_socket();
        if (connection && ::connect(connection.get(), address.get(), address.size()) == 0)
            life_->watch(each.key, std::move(connection));
    }
}

}  // namespace mortise::store_detail
