// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_OLD_LOG_HPP
#define MORTISE_TXN_OLD_LOG_HPP

#include <filesystem>

namespace mortise::txn {

/// Takes the old copy of a log for the log, though a coordinator refuses it (`errc::old_log`): for
/// whoever has no newer one, and settles by hand what was decided since. Numbers and epochs go on
/// above all that were given since, as far as the mark beside the log knows.
///
/// What was open when the copy was made is cancelled by the next coordinator, unless a participant
/// says that it was confirmed, or that it has ended: that one is stuck, for people.
///
/// @par Errors    throws `error`: `log_missing`, `not_a_log`, `newer_log`, what the log says.
/// @par Threads   Any. Blocks, for one forced write. No coordinator works on that log.
void adopt_old_log(const std::filesystem::path& log);

}  // namespace mortise::txn

#endif
