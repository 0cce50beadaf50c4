// SPDX-License-Identifier: BSL-1.0
// Texts and bytes that only a relay writes: marks at a sink, headers in a column. Any other content
// must be refused.
#include "fuzz/target.hpp"
#include "mortise/outbox/mark.hpp"
#include "table/key_hash.hpp"
#include "table/message_columns.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::fuzz::outbox_mark_target {
namespace {

using outbox::mark;

mark some_mark(input& in) {
    mark result;
    result.table = in.text(20);
    result.generation = in.edge<std::uint64_t>();
    result.shard = in.edge<std::uint32_t>();
    result.sequence = in.edge<std::uint64_t>();
    result.row = in.edge<std::int64_t>();
    result.message = in.text(20);
    result.layout = in.text(20);
    return result;
}

// A reader who gets only a part of the text, or another text, must not take it for a mark.
void check_written(const mark& original, std::size_t cut, std::size_t changed, std::uint8_t by) {
    const std::string text = original.text();
    MORTISE_ASSERT(text.find_first_of("\t\n\r") == std::string::npos);
    MORTISE_ASSERT(mark::parse(text) == original);
    MORTISE_ASSERT(!mark::parse(text.substr(0, cut % text.size())));
    std::string other = text;
    other[changed % other.size()] = static_cast<char>(other[changed % other.size()] ^ by);
    const auto read = mark::parse(other);
    MORTISE_ASSERT(
        !read || other == text || other.substr(other.rfind(' ')) != text.substr(text.rfind(' '))
    );
}

void check_read(const std::string& body) {
    mark::parse(body);
    // With the right checksum it gets further.
    const auto read = mark::parse(body + ' ' + std::to_string(outbox::table::key_hash(body)));
    if (read)
        MORTISE_ASSERT(mark::parse(read->text()) == read);
}

void check_headers(const std::string& bytes) {
    const auto read = outbox::table::headers_in(bytes);
    if (read)
        MORTISE_ASSERT(outbox::table::bytes_of(*read) == bytes);
}

std::vector<outbox::header> some_headers(input& in) {
    std::vector<outbox::header> headers;
    for (auto left = in.pick(5); left != 0; --left) {
        std::string name = in.text(10);
        std::string value = in.text(10);
        headers.emplace_back(std::move(name), std::move(value));
    }
    return headers;
}

}  // namespace

MORTISE_FUZZ_TARGET(outbox_mark) {
    const mark original = some_mark(in);
    const auto cut = in.number<std::uint16_t>();
    const auto changed = in.number<std::uint16_t>();
    const auto by = in.number<std::uint8_t>();
    check_written(original, cut, changed, by);
    const auto headers = some_headers(in);
    const std::string bytes = outbox::table::bytes_of(headers);
    MORTISE_ASSERT(outbox::table::headers_in(bytes) == headers);
    check_headers(bytes.substr(0, cut % (bytes.size() + 1)));
    const std::string rest = in.rest();
    check_read(rest);
    check_read("mortise-mark-1 " + rest);
    check_read("mortise-mark-2 " + rest);
    check_headers(rest);
}

}  // namespace mortise::fuzz::outbox_mark_target
