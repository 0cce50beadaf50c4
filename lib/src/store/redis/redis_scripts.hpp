// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_SCRIPTS_HPP
#define MORTISE_STORE_REDIS_REDIS_SCRIPTS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

enum class redis_script : std::uint8_t {
    resume,
    end,
    request,
    withdraw,
    release,
    draw,
    beat,
    confirm,
    look,
    names,
    list,
    break_,
    watch,
    // Scripts of the single-key form.
    single_key_take,
    single_key_free,
    single_key_renew,
    single_key_draw,
    single_key_break,
    single_key_view,
};

/// The scripts of a store at its server: one for each operation, for keys under one prefix. Their
/// parts are in the folder `lua`.
class redis_scripts {
public:
    struct script {
        std::string text;
        std::string sha1;  ///< 40 hexadecimal digits, the name for `EVALSHA`.
    };

    /// @param prefix has only characters that `prefix_allowed` allows.
    explicit redis_scripts(std::string_view prefix);

    const script& operator[](redis_script id) const noexcept {
        return scripts_[static_cast<std::size_t>(id)];
    }

    /// Whether all characters of `prefix` can stand in a script as they are: printable ASCII except
    /// quotes, backslash and braces.
    static bool prefix_allowed(std::string_view prefix) noexcept;

    static constexpr std::size_t count =
        static_cast<std::size_t>(redis_script::single_key_view) + 1;

    /// All scripts from `first` to `last`.
    static std::vector<redis_script> range(redis_script first, redis_script last);

private:
    std::array<script, count> scripts_;
};

}  // namespace mortise::store_detail

#endif
