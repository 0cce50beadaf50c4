// SPDX-License-Identifier: BSL-1.0
// The lines of a message file: a file of a sink is read as it was written, whatever was torn off
// its end; anything else is refused, and no byte of it is taken for a batch of ours.
#include "fuzz/target.hpp"
#include "sinks/message_lines.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::fuzz::message_file_target {
namespace {

using outbox::outgoing;
using outbox::sinks::file_contents;

std::optional<std::string> some_bytes(input& in) {
    if (in.pick(4) == 0)
        return std::nullopt;
    return in.text(12);
}

outgoing some_message(input& in) {
    outgoing result;
    result.row = in.edge<std::int64_t>();
    result.message.id = "i" + in.text(6);
    result.message.topic = "t" + in.text(6);
    result.message.key = some_bytes(in);
    result.message.payload = some_bytes(in);
    for (auto left = in.pick(3); left != 0; --left) {
        std::string name = "n" + in.text(6);
        std::string value = in.text(6);
        result.message.headers.emplace_back(std::move(name), std::move(value));
    }
    return result;
}

bool same(const outgoing& one, const outgoing& other) {
    return one.row == other.row && one.message.id == other.message.id &&
           one.message.topic == other.message.topic && one.message.key == other.message.key &&
           one.message.payload == other.message.payload &&
           one.message.headers == other.message.headers;
}

/// As whoever opens a file does. Nothing if it is none of ours.
std::optional<file_contents> read(std::string_view text) {
    outbox::sinks::line_reader reader(true);
    for (;;) {
        const auto end = text.find('\n');
        if (end == std::string_view::npos)
            break;
        if (!reader.take(text.substr(0, end)))
            return std::nullopt;
        text.remove_prefix(end + 1);
    }
    if (!reader.may_end_with(text))
        return std::nullopt;
    return std::move(reader.contents());
}

/// A file, and how long it was after each batch. One that goes on from another has its beginning
/// whole: it is on the disk before the file gets its name.
struct written_file {
    bool goes_on = false;
    std::string text = outbox::sinks::head_line("id");
    std::vector<std::size_t> ends{text.size()};
    std::vector<std::size_t> messages_by_then{0};
    std::vector<outgoing> messages;
};

written_file some_file(input& in) {
    written_file file;
    outbox::mark after;
    after.table = "table";
    if (in.pick(2) == 1) {
        file.goes_on = true;
        file.text = outbox::sinks::head_line_of_next("id") + outbox::sinks::mark_line(after);
        file.ends = {file.text.size()};
    }
    for (auto batches = in.pick(4); batches != 0; --batches) {
        for (auto left = in.pick(4); left != 0; --left) {
            file.messages.push_back(some_message(in));
            file.text += outbox::sinks::message_line(file.messages.back());
        }
        ++after.sequence;
        file.text += outbox::sinks::mark_line(after);
        file.ends.push_back(file.text.size());
        file.messages_by_then.push_back(file.messages.size());
    }
    return file;
}

void check_torn(const written_file& file, std::size_t at) {
    if (file.goes_on && at < file.ends[0]) {
        const auto part = read(std::string_view(file.text).substr(0, at));
        MORTISE_ASSERT(!part || part->id.empty());
        return;
    }
    const auto found = read(std::string_view(file.text).substr(0, at));
    MORTISE_ASSERT(found);
    std::size_t whole = 0;
    while (whole < file.ends.size() && file.ends[whole] <= at)
        ++whole;
    MORTISE_ASSERT(found->whole == (whole == 0 ? 0 : file.ends[whole - 1]));
    MORTISE_ASSERT(found->messages.size() == (whole == 0 ? 0 : file.messages_by_then[whole - 1]));
    for (std::size_t i = 0; i < found->messages.size(); ++i)
        MORTISE_ASSERT(same(found->messages[i], file.messages[i]));
    MORTISE_ASSERT(found->last.has_value() == (file.goes_on || whole > 1));
    MORTISE_ASSERT(found->begins_after.has_value() == file.goes_on);
    if (found->last)
        MORTISE_ASSERT(found->last->sequence == whole - 1);
}

}  // namespace

MORTISE_FUZZ_TARGET(message_file) {
    const auto file = some_file(in);
    check_torn(file, in.number<std::uint16_t>() % (file.text.size() + 1));
    check_torn(file, file.text.size());
    const std::string rest = in.rest();
    for (const auto& text : {rest, file.text + rest}) {
        const auto found = read(text);
        if (found)
            MORTISE_ASSERT(found->whole <= text.size());
    }
}

}  // namespace mortise::fuzz::message_file_target
