// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_LOCK_COMMANDS_HPP
#define MORTISE_TOOLS_LOCK_LOCK_COMMANDS_HPP

#include "common/settings.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/awaitable.hpp>

#include <iosfwd>

namespace mortise::tool {

/// `mortise ls`: who holds which lock, and who waits. @return the exit code.
/// @throws failure, or what the library throws.
int list_locks(const global_settings& global, const ls_settings& settings);

/// `mortise show`: one lock in full. @return the exit code.
/// @throws failure, or what the library throws.
int show_lock(const global_settings& global, const show_settings& settings);

/// The same for a client that exists already.
asio::awaitable<int> show_lock(
    lock_client& locks,
    const global_settings& global,
    const show_settings& settings,
    std::ostream& out
);

/// `mortise break`: takes a lock from its holder. @return the exit code.
/// @throws failure, or what the library throws.
int break_lock(const global_settings& global, const break_settings& settings);

/// The same for a client that exists already.
asio::awaitable<int> break_lock(
    lock_client& locks,
    const global_settings& global,
    const break_settings& settings,
    std::ostream& out
);

/// Finds the grant to break: the only one, or the one with the given token or slot.
/// @throws failure if nobody holds the lock, if another grant holds it, or if the choice is
/// ambiguous.
fencing_token choose_grant(const lock_view& lock, const break_settings& settings);

/// `mortise run`: runs a command under a lock. @return the exit code; `help::run_footer` lists the
/// codes.
/// @throws failure, or what the library throws.
int run_under_lock(const global_settings& global, const run_settings& settings);

/// `mortise doctor`: examines the store. @return the exit code.
/// @throws failure, or what the library throws.
int doctor(const global_settings& global, const doctor_settings& settings);

/// `mortise init`: makes the store, or prints the SQL that does. @return the exit code.
/// @throws failure, or what the library throws.
int init_store(const global_settings& global, const init_settings& settings);

}  // namespace mortise::tool

#endif
