// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_EXTRA_FIELDS_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_EXTRA_FIELDS_HPP

#include "mortise/txn/http/http_client_config.hpp"
#include "wire/http_message.hpp"

#include <string>

namespace mortise::txn::http {

/// The fields that a client adds to each request: the login and the headers of its configuration.
class extra_fields {
public:
    /// @throws error (`bad_config`) that names the field, and shows no value.
    explicit extra_fields(const http_client_config& config);

    void add_to(header_list& headers) const;

    /// Replaces each secret value in a text by `***`, because peers may repeat what they were sent.
    std::string without_values(std::string text) const;

private:
    header_list fields_;
    std::string token_;
};

}  // namespace mortise::txn::http

#endif
