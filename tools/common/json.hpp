// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_JSON_HPP
#define MORTISE_TOOLS_COMMON_JSON_HPP

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace mortise::tool {

namespace json = boost::json;

/// Returns `bytes` unchanged if they are UTF-8, else in the form of `printable`: JSON strings must
/// be UTF-8.
std::string json_text(std::string_view bytes);

/// Sets `key` to `json_text(bytes)`. If that differs from the bytes, also sets `key_hex` to them in
/// hexadecimal.
void set_bytes(json::object& object, std::string_view key, std::string_view bytes);

}  // namespace mortise::tool

#endif
