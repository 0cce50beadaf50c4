// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_FAILURE_HPP
#define MORTISE_DB_SERVER_FAILURE_HPP

#include "mortise/error.hpp"

#include <boost/asio/error.hpp>

#include <exception>
#include <string>
#include <utility>

namespace mortise::db::detail {

/// Why something at a server did not work; no code if it did.
class server_failure {
public:
    server_failure() = default;
    server_failure(error_code why, std::string message, std::string advice = {})
        : code(why), text(std::move(message)), remedy(std::move(advice)) {}

    explicit operator bool() const noexcept { return code.failed(); }

    error_code code;
    std::string text;  ///< The words of the server or of the system, without secrets.
    std::string remedy;
};

/// An `error` to throw; a plain `system_error` if somebody has aborted the operation.
inline std::exception_ptr exception_of(const server_failure& why) {
    if (why.code == asio::error::operation_aborted)
        return std::make_exception_ptr(boost::system::system_error(why.code));
    return std::make_exception_ptr(error(why.code, why.text, why.remedy));
}

inline server_failure aborted() {
    return {asio::error::operation_aborted, {}};
}

}  // namespace mortise::db::detail

#endif
