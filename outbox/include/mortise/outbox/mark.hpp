// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_MARK_HPP
#define MORTISE_OUTBOX_MARK_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::outbox {

/// How far a shard of a message table was published, and of which table. A sink stores it together
/// with the messages, so neither exists without the other.
class mark {
public:
    mark() = default;  // declared: no aggregate (docs/compilers.md, G3)
    friend bool operator==(const mark&, const mark&) = default;

    /// Writes the mark as one line of text with a checksum.
    std::string text() const;
    /// Reads a line of `text`, of this or an older version.
    /// @return the mark; nothing for any other text.
    static std::optional<mark> parse(std::string_view text);

    std::string table;             ///< The random id of the message table.
    std::uint64_t generation = 0;  ///< Grows each time an operator decides where to go on.
    std::uint32_t shard = 0;
    /// The random id of the layout that the shard belongs to. Without it, a shard that was added
    /// again after an old copy was restored would look the same. Empty in tables and marks of older
    /// versions.
    std::string layout;
    std::uint64_t sequence = 0;  ///< Grows by one with each batch, from 1.
    std::int64_t row = 0;        ///< Every row up to this one is published, parked or skipped.
    std::string message;         ///< The id of the message in that row; empty before the first.
};

}  // namespace mortise::outbox

#endif
