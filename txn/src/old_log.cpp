// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/old_log.hpp"

#include "log/decision_log.hpp"
#include "mortise/txn/log_reader.hpp"

#include <boost/asio/io_context.hpp>

#include <optional>

namespace mortise::txn {

void adopt_old_log(const std::filesystem::path& log) {
    coordinator_config how;
    how.log = log;
    how.must_exist = true;
    asio::io_context context(1);
    log::decision_log opened(context.get_executor(), how);
    const log_reader known(log);  // or it is something else's, and stays as it is
    std::optional<error_code> came;
    opened.adopt_old_copy([&came](error_code failed) { came = failed; });
    context.run();
    if (!came || *came)
        throw error(came.value_or(error_code(errc::stopped)), log.string(), "");
}

}  // namespace mortise::txn
