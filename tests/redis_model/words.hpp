// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_WORDS_HPP
#define MORTISE_TESTS_REDIS_MODEL_WORDS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::redis_model {

// How a server reads the words of a command.

std::string upper(std::string_view text);
std::string lower(std::string_view text);
/// Whether `text` is `word`, in any case. `word` must be in capitals.
bool is_word(std::string_view text, std::string_view word);

/// Parses only the server's own form: no sign but a minus, and no leading zero.
std::optional<std::int64_t> to_integer(std::string_view text);
/// @throws refusal
std::int64_t integer_of(const std::string& text);
/// @throws refusal
double real_of(const std::string& text);
std::string real_text(double value);

/// The first and the last index among `size` elements. Negative indices count from the end. Nothing
/// if the range is empty.
struct index_range {
    std::size_t first;
    std::size_t last;
};
std::optional<index_range> clip(std::int64_t first, std::int64_t last, std::size_t size);

/// Matches a pattern with `*`, `?`, `[a-c]`, `[^a]` and `\`.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace mortise::redis_model

#endif
