// SPDX-License-Identifier: BSL-1.0
#include "table/durable.hpp"

#include "mortise/error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace mortise::outbox::table {

// SQLite has locks on the database and on its index of the log, which closing another descriptor of
// those would drop; it has none on the log itself.
void make_durable(const std::filesystem::path& database) {
    const std::string log = database.string() + "-wal";
    const int file = ::open(log.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        return;
    int failed = file < 0 ? errno : 0;
    if (file >= 0) {
        failed = ::fdatasync(file) == 0 ? 0 : errno;
        ::close(file);
    }
    if (failed != 0)
        throw error(error_code(failed, boost::system::system_category()), log, "see to the disk");
}

}  // namespace mortise::outbox::table
