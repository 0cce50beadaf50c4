// SPDX-License-Identifier: BSL-1.0
#include "wire/bearer_token.hpp"

#include "mortise/detail/secret.hpp"
#include "mortise/error.hpp"

#include <algorithm>

namespace mortise::txn::http {

std::string bearer_token(
    const std::string& given,
    const std::filesystem::path& file,
    const std::string& name,
    std::size_t size_min
) {
    if (given.empty() == file.empty()) {
        throw error(
            mortise::errc::bad_config, name, "give it once: as it is, or by the file that holds it"
        );
    }
    const auto token = file.empty() ? given : mortise::detail::secret_in_file(file);
    const bool visible = std::all_of(token.begin(), token.end(), [](char each) {
        return each > ' ' && each <= '~';
    });
    if (token.size() < size_min || token.size() > 1'024 || !visible) {
        const auto few = std::to_string(size_min);
        throw error(mortise::errc::bad_config, name, "use " + few + " to 1,024 visible characters");
    }
    return token;
}

}  // namespace mortise::txn::http
