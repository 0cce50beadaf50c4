// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_HTTP_MESSAGE_HPP
#define MORTISE_TXN_HTTP_HTTP_MESSAGE_HPP

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::txn {

/// Header fields in their order. Names are compared without regard to case.
class http_header_list {
public:
    void add(std::string name, std::string value) {
        fields_.emplace_back(std::move(name), std::move(value));
    }

    bool has(std::string_view name) const noexcept;
    /// The value of a field that occurs exactly once; else empty.
    std::optional<std::string_view> one(std::string_view name) const noexcept;
    std::vector<std::string_view> all(std::string_view name) const;

    auto begin() const noexcept { return fields_.begin(); }
    auto end() const noexcept { return fields_.end(); }

private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

/// A request that a server has read completely.
class http_request {
public:
    http_request() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::string method;
    std::string target;  ///< As in the first line of the request: `/stock/try`.
    http_header_list headers;
    std::string body;
    bool keep_alive = true;  ///< Whether the client wants to send more on its connection.
};

/// The response for a server to send. The length of the body is not among the headers.
class http_response {
public:
    http_response() = default;  // declared: no aggregate (docs/compilers.md, G3)
    explicit http_response(unsigned code, std::string text = {})
        : status(code), body(std::move(text)) {}

    unsigned status = 200;
    http_header_list headers;
    std::string body;
    bool keep_alive = true;  ///< Whether to keep the connection; the server has the last word.
};

}  // namespace mortise::txn

#endif
