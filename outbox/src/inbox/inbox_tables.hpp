// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_INBOX_INBOX_TABLES_HPP
#define MORTISE_OUTBOX_SRC_INBOX_INBOX_TABLES_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/inbox_view.hpp"
#include "mortise/outbox/received.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::outbox::inbox_detail {

/// Makes the tables of the inboxes if they are not there, or brings them up to date:
/// `mortise_inbox_offset`, `_seen`, `_held`, `_about`. @throws error `newer_format`
void make(db::connection& on);
/// Whether they are there. @throws error `newer_format`
bool are_made(db::connection& on);
/// @throws error `not_an_inbox`, `newer_format`, `older_format`
void require(db::connection& on);

/// The random id of the tables, which are there; it is drawn when it is first asked for.
std::string id_of(db::connection& on);

/// As they stand in the table: never change them.
enum held_state : std::int64_t { retried = 0, behind = 1, parked = 2 };

/// The tables of one inbox.
///
/// @par Threads As the connection that is given.
class inbox_tables {
public:
    explicit inbox_tables(std::string name) : name_(std::move(name)) {}

    std::optional<std::int64_t> next_offset(db::connection& on, std::string_view source) const;
    void set_next_offset(db::connection& on, std::string_view source, std::int64_t next) const;
    std::map<std::string, std::int64_t> positions(db::connection& on) const;

    /// @return whether it was new, or was noted more than `window` microseconds ago.
    bool
    note_id(db::connection& on, std::string_view id, std::int64_t now, std::int64_t window) const;
    void forget_ids(db::connection& on, std::int64_t before, std::size_t limit) const;

    /// Whether something with this topic and key is held.
    bool is_blocked(db::connection& on, const message& what) const;
    void hold(
        db::connection& on,
        const received& what,
        held_state as,
        std::int64_t due,
        std::string_view reason
    ) const;

    class held_row {
    public:
        held_row() = default;  // declared: no aggregate (docs/compilers.md, G3)

        std::int64_t row = 0;
        std::uint32_t attempts = 0;
        std::optional<received> what;  ///< Nothing: it cannot be read.
    };
    /// What is to be tried now, at most `limit`.
    std::vector<held_row> due(db::connection& on, std::int64_t now, std::size_t limit) const;
    std::optional<held_row> find_held(db::connection& on, std::int64_t row) const;
    std::optional<std::int64_t> next_due(db::connection& on) const;
    void postpone(
        db::connection& on,
        const held_row& which,
        held_state as,
        std::int64_t due,
        std::string_view why
    ) const;

    const std::string& name() const noexcept { return name_; }

private:
    std::string name_;
};

/// Removes what is held, and lets the next of its topic and key be tried. @return the row of that
std::optional<std::int64_t> release(db::connection& on, std::int64_t row, std::int64_t now);

}  // namespace mortise::outbox::inbox_detail

#endif
