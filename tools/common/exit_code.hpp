// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_EXIT_CODE_HPP
#define MORTISE_TOOLS_COMMON_EXIT_CODE_HPP

namespace mortise::tool {

/// The exit codes of `mortise` itself. A command that `mortise run` executes has its own. The
/// numbers are those of sysexits.h and of shells: scripts and supervisors know them already.
namespace exit_code {

inline constexpr int success = 0;
inline constexpr int check_failed = 1;    ///< `bench` and `doctor`: a check failed.
inline constexpr int usage = 64;          ///< EX_USAGE: the command line is not valid.
inline constexpr int not_held = 66;       ///< EX_NOINPUT: `break`: nobody holds the lock.
inline constexpr int nothing_to_do = 66;  ///< `txn`, `outbox`, `inbox`: no such thing exists.
inline constexpr int unavailable = 69;    ///< EX_UNAVAILABLE: the store cannot be used.
inline constexpr int internal = 70;       ///< EX_SOFTWARE: the operating system refused something.
inline constexpr int not_acquired = 75;   ///< EX_TEMPFAIL: the lock was not free in time.
inline constexpr int passed_on = 75;      ///< EX_TEMPFAIL: `break`: another grant holds the lock.
inline constexpr int no_answer = 75;      ///< EX_TEMPFAIL: `txn`: no coordinator has done it yet.
inline constexpr int lost = 76;           ///< The lock was lost before the command ended.
inline constexpr int not_executable = 126;  ///< As in shells.
inline constexpr int not_found = 127;       ///< As in shells.
inline constexpr int signal_base = 128;     ///< 128 + N: ended by signal N.

}  // namespace exit_code

}  // namespace mortise::tool

#endif
