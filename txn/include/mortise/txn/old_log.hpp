// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_OLD_LOG_HPP
#define MORTISE_TXN_OLD_LOG_HPP

#include <filesystem>

namespace mortise::txn {

/// Accepts an old copy of a log as the log, although coordinators refuse it (`errc::old_log`). Use
/// it if there is no newer copy, and settle by hand what was decided since. Numbers and epochs
/// continue above all that the mark beside the log knows of.
///
/// The next coordinator cancels the transactions that were open when the copy was made. If a
/// participant says that one was confirmed, or has ended, that one is stuck instead, for people.
///
/// @par Errors    throws `error`: `log_missing`, `not_a_log`, `newer_log`, the errors of the log.
/// @par Threads   Any thread. Blocks, for one forced write. No coordinator may work on that log.
void adopt_old_log(const std::filesystem::path& log);

}  // namespace mortise::txn

#endif
