// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_RANDOM_COMMANDS_HPP
#define MORTISE_TESTS_REDIS_MODEL_RANDOM_COMMANDS_HPP

#include "support/choices.hpp"

#include <string>
#include <vector>

namespace mortise::test {

/// Draws commands over few keys, fields and members, to make them meet. Some commands are wrong.
class random_commands {
public:
    explicit random_commands(std::uint64_t seed) : draw_(seed) {}

    std::vector<std::string> next();
    unsigned pick(std::size_t of) { return draw_.pick(of); }

private:
    using words = std::vector<std::string>;

    words hash_command();
    words sorted_command();
    words range_command();
    words bytes_command();
    words set_command();
    words list_command();
    words text_command();
    words key_command();
    words wrong_command();

    std::string one_of(std::initializer_list<const char*> texts);
    bool one_in(std::size_t of) { return draw_.pick(of) == 0; }
    std::string key(const char* usual);
    std::string member() { return "m" + std::to_string(draw_.pick(6)); }
    std::string score();
    std::string bound();
    std::string index();

    choices draw_;
};

}  // namespace mortise::test

#endif
