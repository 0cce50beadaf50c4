// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_SCRIPTS_HPP
#define MORTISE_STORE_REDIS_REDIS_SCRIPTS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store_detail {

enum class redis_script : std::uint8_t {
    resume,
    request,        ///< The short ways, likewise `release`.
    request_rules,  ///< All ways, likewise `release_rules`.
    release,
    release_rules,
    release_request,   ///< The short ways of both.
    request_in_order,  ///< Of several locks.
    withdraw,
    draw,
    extend,
    beat,
    confirm,
    survey,
    state,
    expel,
    expire,
    advance,
    forget,
    end,
    names,
    list,
    break_,
    watch,
    retire,
    migrate,
    // Scripts of the single-key form.
    single_key_take,
    single_key_free,
    single_key_renew,
    single_key_draw,
    single_key_break,
    single_key_view,
    // Scripts of a node of Redlock.
    redlock_open,
    redlock_beat,
    redlock_ask,
    redlock_free,
    redlock_draw,
    redlock_check,
    redlock_end,
    redlock_expel,
    redlock_counter,
    redlock_restore,
    redlock_view,
    redlock_break,
    // Scripts of a store that is spread over a cluster.
    bucket_record,
};

/// A script with what it is given.
struct script_call {
    script_call(redis_script id, std::vector<std::string> all_keys, std::vector<std::string> rest)
        : script(id), keys(std::move(all_keys)), arguments(std::move(rest)) {}
    script_call(redis_script id, std::vector<std::string> rest)
        : script(id), arguments(std::move(rest)) {}

    redis_script script;
    std::vector<std::string> keys;  ///< Of the queue form: all that it may touch.
    std::vector<std::string> arguments;
};

/// The scripts of a store at its server: one or two for each operation. Their parts are in the
/// folder `lua`.
class redis_scripts {
public:
    struct script {
        std::string text;
        std::string sha1;  ///< 40 hexadecimal digits, the name for `EVALSHA`.
    };

    redis_scripts();

    /// Those of this process: a store may have many links.
    static const redis_scripts& shared();

    const script& operator[](redis_script id) const noexcept {
        return scripts_[static_cast<std::size_t>(id)];
    }

    /// Whether all characters of `prefix` can stand between the braces of keys, and in a login's
    /// rights: printable ASCII except quotes, backslash and braces.
    static bool prefix_allowed(std::string_view prefix) noexcept;

    static constexpr std::size_t count = static_cast<std::size_t>(redis_script::bucket_record) + 1;

    /// All scripts from `first` to `last`.
    static std::vector<redis_script> range(redis_script first, redis_script last);

private:
    std::array<script, count> scripts_;
};

}  // namespace mortise::store_detail

#endif
