// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_SINKS_MESSAGE_LINES_HPP
#define MORTISE_OUTBOX_SRC_SINKS_MESSAGE_LINES_HPP

#include "mortise/outbox/mark.hpp"
#include "mortise/outbox/sink.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::outbox::sinks {

/// The first line of a message file, with the random id of the sink.
std::string head_line(std::string_view id);
/// The first line of a file that continues another; the mark of that one follows.
std::string head_line_of_next(std::string_view id);
std::string message_line(const outgoing& message);
std::string mark_line(const mark& after);

/// The contents of a message file.
class file_contents {
public:
    file_contents() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::string id;
    std::optional<mark> last;
    std::size_t whole = 0;      ///< Bytes up to the end of the last whole batch.
    bool has_messages = false;  ///< In whole batches.
    /// The row at which the previous file ended; none: this is the first file.
    std::optional<std::int64_t> begins_after;
    std::vector<outgoing> messages;  ///< Of whole batches; only on request.
};

/// Reads the lines of a message file one after the other.
class line_reader {
public:
    explicit line_reader(bool keep_messages) : keep_(keep_messages) {}

    /// Takes the next line. @return whether the line is valid at this place.
    bool take(std::string_view line);
    /// @return whether text after the last whole line can be the beginning of one of our lines.
    bool may_end_with(std::string_view rest) const noexcept;
    file_contents& contents() noexcept { return contents_; }

private:
    bool take_message(std::string_view parts);

    bool keep_;
    bool begun_ = false;
    bool continues_ = false;  ///< The mark of the previous file must come next.
    bool batch_has_messages_ = false;
    std::size_t read_ = 0;
    std::vector<outgoing> batch_;
    file_contents contents_;
};

}  // namespace mortise::outbox::sinks

#endif
