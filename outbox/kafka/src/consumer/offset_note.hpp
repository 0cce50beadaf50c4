// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_KAFKA_SRC_CONSUMER_OFFSET_NOTE_HPP
#define MORTISE_KAFKA_SRC_CONSUMER_OFFSET_NOTE_HPP

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::kafka {

/// The note that a group stores with an offset: "NEXT OWNER". Older versions omitted the owner.
class offset_note {
public:
    offset_note() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// Behind the last record that was handled; -1: none was yet.
    std::int64_t dealt_with = -1;
    std::string owner;  ///< The identity of the inbox; empty: unknown.

    std::string text() const {
        std::string text = std::to_string(dealt_with);
        if (!owner.empty())
            text += ' ' + owner;
        return text;
    }

    /// Reads a note; -1 and no owner for the text of another program.
    static offset_note parse(std::string_view text) {
        offset_note note;
        const std::string_view number = text.substr(0, text.find(' '));
        std::int64_t found = -1;
        const auto [end, wrong] =
            std::from_chars(number.data(), number.data() + number.size(), found);
        if (number.empty() || wrong != std::errc() || end != number.data() + number.size())
            return note;
        note.dealt_with = found;
        if (number.size() < text.size())
            note.owner = text.substr(number.size() + 1);
        return note;
    }
};

}  // namespace mortise::kafka

#endif
