// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/bell.hpp"

#include "db/bell_listener.hpp"
#include "sqlite/sockets.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::db {
namespace {

using mortise::detail::unique_fd;

constexpr std::size_t name_size = 32;

/// @return whether somebody listens there. The socket of a listener that died is removed.
bool tell(int folder, const char* name, int from) {
    const sqlite_detail::socket_address to("/proc/self/fd/" + std::to_string(folder) + '/' + name);
    const char news = 1;
    if (::sendto(from, &news, 1, MSG_DONTWAIT | MSG_NOSIGNAL, to.get(), to.size()) >= 0)
        return true;
    if (errno == ECONNREFUSED)
        ::unlinkat(folder, name, 0);
    return errno == EAGAIN;  // Its queue is full of rings already.
}

std::size_t tell_all(const std::string& path) {
    unique_fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd)
        return 0;  // Nobody has ever listened.
    const unique_fd from = sqlite_detail::make_socket(SOCK_DGRAM);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd.get()), &::closedir);
    if (!from || !stream)
        return 0;
    const int folder = fd.release();
    std::size_t heard = 0;
    while (const dirent* each = ::readdir(stream.get())) {
        if (std::string_view(each->d_name).size() == name_size)
            heard += tell(folder, each->d_name, from.get()) ? 1u : 0u;
    }
    return heard;
}

}  // namespace

bell::bell(
    asio::any_io_executor executor,
    const std::filesystem::path& database,
    std::function<void()> heard,
    bell_pulse without_rings
)
    : listener_(std::make_shared<detail::bell_listener>(
          std::move(executor), database, std::move(heard), std::move(without_rings)
      )) {
    listener_->start();
}

bell::~bell() {
    listener_->close();
}

std::size_t bell::ring(const std::filesystem::path& database) noexcept {
    try {
        return tell_all(detail::bell_folder(database));
    } catch (...) {
        return 0;  // No memory.
    }
}

}  // namespace mortise::db
