// SPDX-License-Identifier: BSL-1.0
#include "store/store_domain.hpp"

#include "mortise/error.hpp"

namespace mortise::store_detail {

std::optional<token_domain> parse_store_domain(std::string_view name) noexcept {
    if (name.size() > token_domain::store_size_max || name.find('#') != std::string_view::npos)
        return std::nullopt;
    return token_domain::parse(name);
}

void check_wanted_domain(const std::string& name) {
    if (name.empty() || parse_store_domain(name))
        return;
    throw error(
        errc::bad_config,
        "domain = \"" + name + '"',
        "use 1 to " + std::to_string(token_domain::store_size_max) +
            " characters out of A-Z a-z 0-9 . _ : - (permits add # and a number)"
    );
}

}  // namespace mortise::store_detail
