// SPDX-License-Identifier: BSL-1.0
#include "common/failure.hpp"

#include "common/exit_code.hpp"
#include "common/json.hpp"
#include "common/printable.hpp"

#include <cerrno>
#include <iostream>
#include <utility>

namespace mortise::tool {
namespace {

int exit_code_for(const error_code& code) {
    if (code == condition::bad_argument)
        return exit_code::usage;
    if (code == errc::busy || code == errc::quarantined)
        return exit_code::not_acquired;
    if (code == condition::not_held)
        return exit_code::lost;
    return code.category() == error_category() ? exit_code::unavailable : exit_code::internal;
}

}  // namespace

failure::failure(int exit_code, std::string message, std::string value, std::string remedy)
    : exit_code_(exit_code),
      message_(std::move(message)),
      value_(std::move(value)),
      remedy_(std::move(remedy)) {}

failure failure::of(const std::exception& thrown) {
    if (const auto* same = dynamic_cast<const failure*>(&thrown))
        return *same;
    if (const auto* known = dynamic_cast<const error*>(&thrown)) {
        return failure(
            exit_code_for(known->code()), known->code().message(), known->value(), known->remedy()
        );
    }
    if (const auto* coded = dynamic_cast<const boost::system::system_error*>(&thrown))
        return failure(exit_code_for(coded->code()), coded->code().message());
    return failure(exit_code::internal, thrown.what());
}

failure failure::of_code(const error_code& code, std::string value, std::string detail) {
    return failure(exit_code_for(code), code.message(), std::move(value), std::move(detail));
}

failure failure::of_errno(std::string problem) {
    const error_code code(errno, boost::system::system_category());
    return failure(exit_code::internal, std::move(problem), code.message());
}

std::string failure::text() const {
    std::string line = message_;
    if (!value_.empty())
        line += ": " + value_;
    if (!remedy_.empty())
        line += "; " + remedy_;
    return printable(line, newlines::as_spaces);
}

void failure::report(bool as_json) const {
    if (!as_json) {
        std::cerr << "mortise: " << text() << '\n';
        return;
    }
    json::object fields;
    fields["message"] = json_text(message_);
    fields["value"] = json_text(value_);
    fields["remedy"] = json_text(remedy_);
    fields["exit_code"] = exit_code_;
    std::cerr << json::serialize(json::object{{"error", std::move(fields)}}) << '\n';
}

void refuse(const char* problem, std::string value, const char* remedy) {
    throw failure(exit_code::usage, problem, std::move(value), remedy);
}

}  // namespace mortise::tool
