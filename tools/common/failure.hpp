// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_FAILURE_HPP
#define MORTISE_TOOLS_COMMON_FAILURE_HPP

#include "mortise/error.hpp"

#include <exception>
#include <string>

namespace mortise::tool {

/// Ends a command. Holds what went wrong, with which value, what to do about it, and the exit code.
class failure : public std::exception {
public:
    failure(int exit_code, std::string message, std::string value = {}, std::string remedy = {});

    /// Makes a failure from an exception of the library.
    static failure of(const std::exception& thrown);

    /// Makes a failure from the code of a store operation. `detail` is the store's explanation.
    static failure of_code(const error_code& code, std::string value, std::string detail);

    /// Makes a failure from `errno`, after a system call failed.
    static failure of_errno(std::string problem);

    int exit_code() const noexcept { return exit_code_; }
    const char* what() const noexcept override { return message_.c_str(); }

    /// "message: value; remedy" on one line, safe to show on a terminal.
    std::string text() const;

    /// Writes `mortise: message: value; remedy` to the standard error, or a JSON object.
    void report(bool as_json) const;

private:
    int exit_code_;
    std::string message_;
    std::string value_;
    std::string remedy_;
};

/// Refuses what a user wrote. @throws failure with `exit_code::usage`
[[noreturn]] void refuse(const char* problem, std::string value, const char* remedy);

}  // namespace mortise::tool

#endif
