// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_EXIT_CODE_HPP
#define MORTISE_TOOLS_EXIT_CODE_HPP

namespace mortise::tool {

/// What `mortise` exits with, apart from the exit code of the command that it runs. The numbers are
/// those of sysexits.h and of shells, so that scripts and supervisors know them already.
namespace exit_code {

inline constexpr int success = 0;
inline constexpr int check_failed = 1;    ///< `bench` and `doctor`: something is broken.
inline constexpr int usage = 64;          ///< EX_USAGE: the command line cannot be understood.
inline constexpr int not_held = 66;       ///< EX_NOINPUT: `break`: nobody holds the lock.
inline constexpr int nothing_to_do = 66;  ///< `txn`, `outbox`, `inbox`: nothing such is there.
inline constexpr int unavailable = 69;    ///< EX_UNAVAILABLE: the store cannot be used.
inline constexpr int internal = 70;       ///< EX_SOFTWARE: the operating system refused something.
inline constexpr int not_acquired = 75;   ///< EX_TEMPFAIL: the lock was not free in time.
inline constexpr int passed_on = 75;      ///< EX_TEMPFAIL: `break`: another grant holds the lock.
inline constexpr int no_answer = 75;      ///< EX_TEMPFAIL: `txn`: no coordinator has done it yet.
inline constexpr int lost = 76;           ///< The lock was lost before the command ended.
inline constexpr int not_executable = 126;  ///< As in a shell.
inline constexpr int not_found = 127;       ///< As in a shell.
inline constexpr int signal_base = 128;     ///< 128 + N: ended by signal N.

}  // namespace exit_code

}  // namespace mortise::tool

#endif
