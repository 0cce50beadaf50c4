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

/// Creates the tables of the inboxes if they are missing, and updates those of an older format:
/// `mortise_inbox_offset`, `_seen`, `_held`, `_about`. @throws error `newer_format`
void make(db::connection& on);
/// Whether the tables exist. @throws error `newer_format`
bool are_made(db::connection& on);
/// @throws error `not_an_inbox`, `newer_format`, `older_format`
void require(db::connection& on);

/// The random id of the existing tables; drawn by the first call.
std::string id_of(db::connection& on);

/// Stored in the table: never change these values.
enum held_state : std::int64_t { retried = 0, behind = 1, parked = 2 };

/// The tables of one inbox.
///
/// @par Threads As for the given connection.
class inbox_tables {
public:
    explicit inbox_tables(std::string name) : name_(std::move(name)) {}

    std::optional<std::int64_t> next_offset(db::connection& on, std::string_view source) const;
    void set_next_offset(db::connection& on, std::string_view source, std::int64_t next) const;
    std::map<std::string, std::int64_t> positions(db::connection& on) const;

    /// Notes an id. @return whether it was new, or was noted more than `window` microseconds ago.
    bool
    note_id(db::connection& on, std::string_view id, std::int64_t now, std::int64_t window) const;
    void forget_ids(db::connection& on, std::int64_t before, std::size_t limit) const;

    /// Whether a message with this topic and key is held.
    bool is_blocked(db::connection& on, const message& message) const;
    void hold(
        db::connection& on,
        const received& received,
        held_state as,
        std::int64_t due,
        std::string_view reason
    ) const;

    class held_row {
    public:
        held_row() = default;  // declared: no aggregate (docs/compilers.md, G3)

        std::int64_t row = 0;
        std::uint32_t attempts = 0;
        std::optional<outbox::received> received;  ///< Nothing: it cannot be read.
    };
    /// Finds messages to try now, at most `limit`.
    std::vector<held_row> due(db::connection& on, std::int64_t now, std::size_t limit) const;
    std::optional<held_row> find_held(db::connection& on, std::int64_t row) const;
    std::optional<std::int64_t> next_due(db::connection& on) const;
    void postpone(
        db::connection& on,
        const held_row& held,
        held_state as,
        std::int64_t due,
        std::string_view why
    ) const;

    const std::string& name() const noexcept { return name_; }

private:
    std::string name_;
};

/// Removes a held message and makes the next one of its topic and key due. @return the row of that
/// one
std::optional<std::int64_t> release(db::connection& on, std::int64_t row, std::int64_t now);

}  // namespace mortise::outbox::inbox_detail

#endif
