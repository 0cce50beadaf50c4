// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_CLOSURE_GUARD_HPP
#define MORTISE_DB_CLOSURE_GUARD_HPP

struct sqlite3;

namespace mortise::db::detail {

/// While a closure runs, refuses the session's own business: to begin and end transactions, to
/// touch the savepoint around the closure, to attach databases, to change pragmas that the
/// session's promises depend on.
///
/// It also lets nothing commit while a closure runs. If SQLite undoes the transaction and the
/// closure does not notice, its next statement would otherwise commit by itself.
class closure_guard {
public:
    /// The savepoint around each closure.
    static constexpr const char* savepoint = "mortise_closure";

    closure_guard() = default;
    closure_guard(const closure_guard&) = delete;
    closure_guard& operator=(const closure_guard&) = delete;

    /// Becomes the connection's authorizer and its commit hook. It must outlive the connection.
    void install(sqlite3* db) noexcept;

    void enter() noexcept;
    void leave() noexcept { inside_ = false; }
    /// Whether the closure tried a refused action, even if it ignored the refusal.
    bool tried() const noexcept { return tried_; }
    /// Whether the guard was still the commit hook, and makes it so again: a closure can install
    /// another one.
    bool in_charge(sqlite3* db) noexcept;

private:
    static int authorize(
        void* self,
        int action,
        const char* first,
        const char* second,
        const char* database,
        const char* trigger
    ) noexcept;

    static int on_commit(void* self) noexcept;

    bool inside_ = false;
    bool tried_ = false;
};

}  // namespace mortise::db::detail

#endif
