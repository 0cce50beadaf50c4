// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_ACTOR_PLACE_HPP
#define MORTISE_TESTS_CHAOS_ACTOR_PLACE_HPP

#include <string>

namespace mortise::test {

/// The surroundings in which a process runs. An actor's command line names them by a word.
enum class actor_place {
    here,
    /// A new namespace for process ids, in which the process has the first id, and a new /proc:
    /// that is what a container is. A user that is not root also gets a new user namespace around
    /// it.
    container,
    other_user,  ///< As the user `nobody`, to whom root is another user.
};

const char* word_for(actor_place where) noexcept;

/// Moves this process there. For a container the caller continues as its first process; the outer
/// process waits for the end of the inner one, and never returns.
/// @return what the system refused; empty: nothing.
std::string move_to(const std::string& word);

/// Why no container can be created here; empty: one can.
std::string why_no_container();
/// Whether this process may administer the system (CAP_SYS_ADMIN).
bool may_administer();

}  // namespace mortise::test

#endif
