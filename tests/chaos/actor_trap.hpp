// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_ACTOR_TRAP_HPP
#define MORTISE_TESTS_CHAOS_ACTOR_TRAP_HPP

#include <atomic>
#include <memory>
#include <string>

struct sqlite3_vfs;

namespace mortise::test {

/// SQLite's file system, in which this process can be made to stop, or to die, while it writes to a
/// write-ahead log: in the middle of a commit. Registered under `name()` for ever; one of them.
class write_trap {
public:
    write_trap();

    const std::string& name() const { return name_; }

    /// The n-th write from now on, counted from one, raises this signal before it is done.
    void arm(int writes, int signal);

private:
    std::string name_ = "mortise-trap";
    std::unique_ptr<sqlite3_vfs> vfs_;
};

/// From now on the kernel kills this process when any of its threads sends to a socket.
/// @return whether the kernel can.
bool die_at_the_next_send();

}  // namespace mortise::test

#endif
