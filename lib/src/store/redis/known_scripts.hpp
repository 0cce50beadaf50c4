// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_KNOWN_SCRIPTS_HPP
#define MORTISE_STORE_REDIS_KNOWN_SCRIPTS_HPP

#include "store/redis/redis_scripts.hpp"
#include "store/redis/redis_wire.hpp"

#include <bitset>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// Which scripts the server at the other end of a connection knows, as far as this connection has
/// shown. The text of a script is sent at most once on a connection, unless the server forgets it.
class known_scripts {
public:
    /// `scripts` must outlive this object.
    explicit known_scripts(const redis_scripts& scripts) noexcept : scripts_(scripts) {}

    /// Asks which of `wanted` the server knows.
    redis_command question(const std::vector<redis_script>& wanted) const;
    /// Notes the answer to that question.
    /// @return the scripts that must be loaded; none if the server does not tell.
    std::vector<redis_script>
    note(const std::vector<redis_script>& wanted, const redis_value& answer);
    redis_command loading(redis_script script) const;
    void loaded(redis_script script) noexcept { known_.set(index(script)); }

    /// The command that makes the call: by its text if the server is not known to have it. From the
    /// next command on the server has it.
    redis_command call(const script_call& wanted);

    /// Forgets all, because the server has forgotten its scripts or the connection is a new one.
    void forget() noexcept { known_.reset(); }

private:
    static constexpr std::size_t index(redis_script script) noexcept {
        return static_cast<std::size_t>(script);
    }

    const redis_scripts& scripts_;
    std::bitset<redis_scripts::count> known_;
};

/// Whether the server refused a call because it does not know the script.
bool is_unknown_script(const redis_value& reply) noexcept;

}  // namespace mortise::store_detail

#endif
