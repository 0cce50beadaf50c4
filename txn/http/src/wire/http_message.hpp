// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_HTTP_MESSAGE_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_HTTP_MESSAGE_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::txn::http {

/// Header fields in their order. Names are compared without regard to case.
class header_list {
public:
    void add(std::string name, std::string value) {
        fields_.emplace_back(std::move(name), std::move(value));
    }

    bool has(std::string_view name) const noexcept;
    /// Nothing unless the field stands there exactly once.
    std::optional<std::string_view> one(std::string_view name) const noexcept;
    std::vector<std::string_view> all(std::string_view name) const;

    auto begin() const noexcept { return fields_.begin(); }
    auto end() const noexcept { return fields_.end(); }

private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

class request {
public:
    request() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::string method;
    std::string target;
    header_list headers;
    std::string body;
    bool keep_alive = true;
};

class response {
public:
    response() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit response(unsigned code, std::string text = {}) : status(code), body(std::move(text)) {}

    unsigned status = 200;
    header_list headers;
    std::string body;
    bool keep_alive = true;
};

/// What of a message is held in memory at most.
struct message_limits {
    std::size_t header_max = 16u << 10;
    std::size_t body_max = 1u << 20;
};

/// Why bytes are no message that is taken.
enum class fault : unsigned char { none, header_too_long, body_too_long, malformed };

}  // namespace mortise::txn::http

#endif
