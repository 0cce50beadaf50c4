// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_ACTOR_PLACE_HPP
#define MORTISE_TESTS_CHAOS_ACTOR_PLACE_HPP

#include <string>

namespace mortise::test {

/// Where a process is to run, by its word on the command line of an actor.
enum class actor_place {
    here,
    /// A namespace of its own for process ids, with the first of its ids, and its own /proc: what a
    /// container is. A user namespace around it for who is not root.
    container,
    other_user,  ///< As the user `nobody`, for whom root is another.
};

const char* word_for(actor_place where) noexcept;

/// Moves this process there. Of a container, the caller goes on as its first process; the process
/// outside waits for its end, and never returns.
/// @return what the system refused; empty: nothing.
std::string move_to(const std::string& word);

/// Why no container can be made here; empty: one can.
std::string why_no_container();
/// Whether this process has the right to administer the system (CAP_SYS_ADMIN).
bool may_administer();

}  // namespace mortise::test

#endif
