// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_FAILURE_HPP
#define MORTISE_TOOLS_FAILURE_HPP

#include "mortise/error.hpp"

#include <exception>
#include <string>

namespace mortise::tool {

/// Ends a command: what went wrong, with which value, what to do about it, and the exit code.
class failure : public std::exception {
public:
    failure(int exit_code, std::string message, std::string value = {}, std::string remedy = {});

    /// Of what the library threw.
    static failure of(const std::exception& thrown);

    /// Of a code that an operation on the store gave; `detail` is what the store says of it.
    static failure of_code(const error_code& code, std::string value, std::string detail);

    /// Of the last call to the system, by `errno`.
    static failure of_errno(std::string what);

    int exit_code() const noexcept { return exit_code_; }
    const char* what() const noexcept override { return message_.c_str(); }

    /// "message: value; remedy", one line, safe to show on a terminal.
    std::string text() const;

    /// Writes `mortise: message: value; remedy` to the standard error, or a JSON object.
    void report(bool as_json) const;

private:
    int exit_code_;
    std::string message_;
    std::string value_;
    std::string remedy_;
};

}  // namespace mortise::tool

#endif
