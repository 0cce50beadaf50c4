// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/old_log.hpp"

#include "log/decision_log.hpp"
#include "mortise/txn/log_reader.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <optional>

namespace mortise::txn {

void adopt_old_log(const std::filesystem::path& log) {
    coordinator_config how;
    how.log = log;
    how.must_exist = true;
    if (!std::filesystem::exists(log))
        throw error(errc::log_missing, log.string(), "name the old copy");
    if (log_reader(log).id() == 0)  // leave an empty database, or another program's, untouched
        throw error(errc::not_a_log, log.string(), "nothing has begun in it: it is no copy");
    asio::io_context context(1);
    log::decision_log opened(context.get_executor(), how);
    std::optional<error_code> code;
    opened.adopt_old_copy([&code](error_code failed) { code = failed; });
    context.run();
    if (!code || *code)
        throw error(code.value_or(error_code(errc::stopped)), log.string(), "");
}

}  // namespace mortise::txn
