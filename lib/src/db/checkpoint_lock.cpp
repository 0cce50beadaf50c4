// SPDX-License-Identifier: BSL-1.0
#include "db/checkpoint_lock.hpp"

#include "mortise/coro/assert.hpp"
#include "sqlite/failure.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <string>

namespace mortise::db::detail {

checkpoint_lock::checkpoint_lock(const std::filesystem::path& database) {
    const std::string path = database.string() + ".checkpoint";
    constexpr mode_t mode = 0666;  // less the umask, as SQLite makes the database
    file_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
    if (!file_)
        throw sqlite_detail::failure_of_call(errno, "opening it", path);
}

bool checkpoint_lock::try_lock() noexcept {
    return ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
}

void checkpoint_lock::unlock() noexcept {
    const int code = ::flock(file_.get(), LOCK_UN);
    MORTISE_ASSERT(code == 0);
}

}  // namespace mortise::db::detail
