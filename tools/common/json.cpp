// SPDX-License-Identifier: BSL-1.0
#include "common/json.hpp"

#include "common/printable.hpp"

namespace mortise::tool {

std::string json_text(std::string_view bytes) {
    return valid_utf8(bytes) ? std::string(bytes) : printable(bytes);
}

void set_bytes(json::object& object, std::string_view key, std::string_view bytes) {
    object[key] = json_text(bytes);
    if (!valid_utf8(bytes))
        object[std::string(key) + "_hex"] = hexadecimal(bytes);
}

}  // namespace mortise::tool
