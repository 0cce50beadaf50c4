// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_VOCABULARY_HPP
#define MORTISE_TESTS_FUZZ_VOCABULARY_HPP

#include "support/byte_source.hpp"

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::fuzz {

/// Words that mean something to what is fuzzed, so that it is not refused at the first one.
class vocabulary {
public:
    /// The words stand between blanks.
    explicit vocabulary(const std::string& text) {
        std::istringstream rest(text);
        for (std::string word; rest >> word;)
            words_.push_back(word);
    }

    /// One of them, or now and then any bytes, at most so many.
    std::string pick(test::byte_source& in, std::size_t bytes_max) const {
        const std::size_t index = in.pick(words_.size() + words_.size() / 8 + 1);
        return index < words_.size() ? words_[index] : in.text(bytes_max);
    }

private:
    std::vector<std::string> words_;
};

}  // namespace mortise::fuzz

#endif
