// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PRINT_HPP
#define MORTISE_TESTS_SUPPORT_PRINT_HPP

#include <boost/asio/cancellation_type.hpp>

#include <array>
#include <ostream>
#include <sstream>
#include <string>

namespace boost::asio {

/// GoogleTest's printer; found by argument-dependent lookup.
inline void PrintTo(cancellation_type type, std::ostream* out) {
    switch (type) {
    case cancellation_type::none:
        *out << "none";
        return;
    case cancellation_type::terminal:
        *out << "terminal";
        return;
    case cancellation_type::partial:
        *out << "partial";
        return;
    case cancellation_type::total:
        *out << "total";
        return;
    case cancellation_type::all:
        *out << "all";
        return;
    }
    *out << static_cast<unsigned>(type);
}

}  // namespace boost::asio

namespace mortise::test {

inline constexpr std::array cancellation_types = {
    boost::asio::cancellation_type::terminal,
    boost::asio::cancellation_type::partial,
    boost::asio::cancellation_type::total,
};

/// The name of a parameterised test's case.
struct param_name {
    template <class Info>
    std::string operator()(const Info& info) const {
        std::ostringstream text;
        PrintTo(info.param, &text);
        return text.str();
    }
};

}  // namespace mortise::test

#endif
