// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_ACTOR_TRAP_HPP
#define MORTISE_TESTS_CHAOS_ACTOR_TRAP_HPP

#include <atomic>
#include <memory>
#include <string>

struct sqlite3_vfs;

namespace mortise::test {

/// SQLite's file system, except that a write to a write-ahead log can stop or kill this process: in
/// the middle of a commit. Stays registered as `name()` for ever; a process has only one.
class write_trap {
public:
    write_trap();

    const std::string& name() const { return name_; }

    /// Makes the n-th write from now on, counted from one, raise `signal` before it writes.
    void arm(int writes, int signal);

private:
    std::string name_ = "mortise-trap";
    std::unique_ptr<sqlite3_vfs> vfs_;
};

/// Makes the kernel kill this process when any of its threads next sends to a socket.
/// @return whether the kernel can.
bool die_at_the_next_send();

}  // namespace mortise::test

#endif
