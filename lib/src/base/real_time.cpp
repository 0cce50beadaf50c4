// SPDX-License-Identifier: BSL-1.0
#include "mortise/detail/real_time.hpp"

#include "mortise/error.hpp"

#include <utility>

namespace mortise::detail {

std::shared_ptr<coro::time_source> make_real_time(asio::any_io_executor executor) {
    using boost::system::errc::too_many_files_open;
    using boost::system::errc::too_many_files_open_in_system;
    try {
        return coro::make_boot_time_source(std::move(executor));
    } catch (const boost::system::system_error& failed) {
        if (failed.code() != too_many_files_open && failed.code() != too_many_files_open_in_system)
            throw;
        throw error(errc::too_many_files, "timerfd_create", "raise the limit (ulimit -n)");
    }
}

}  // namespace mortise::detail
