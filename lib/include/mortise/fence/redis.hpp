// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_FENCE_REDIS_HPP
#define MORTISE_FENCE_REDIS_HPP

#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mortise {

/// The fence of resources that live at a Redis server of the user's: it remembers, per resource,
/// the highest token that was let in, and refuses lower ones in the script that writes.
///
/// It makes the commands; any client sends them, and `judge` says what an error in the reply means:
/// ```
/// redis_fence fence("fence:stock");
/// boost::redis::request request;
/// const auto words = fence.admit(held.token(), {"SET", "stock", "41"}, {"stock"});
/// request.push_range(words.front(), words.begin() + 1, words.end());
/// ```
/// Use: send `raise` as soon as the lock is held and *before the first read*, then read and think,
/// then send the write by `admit`. Without the raise a writer that was paused could still write
/// between the read and the write of its successor, whose update would be computed from a value
/// that is no longer there: every check passes and the late write is lost.
///
/// The fence is a hash at a key of its own, without a time to live: it must outlive every writer.
/// Tokens are compared as text of fixed width, since a script's numbers are exact to 2^53 only.
///
/// @par Threads Any: const.
/// @par Cost One command; the script is 0.6 KiB and is compiled once by the server.
class redis_fence {
public:
    /// @param key of the fence, 1 byte or more. One for each resource, in the same hash slot as the
    ///            resource's own keys where there is a cluster.
    /// @throws error `bad_config` if it is empty
    explicit redis_fence(std::string key);

    /// The command that raises the fence to `held`. Its reply is OK or an error.
    /// @throws error `no_token`
    std::vector<std::string> raise(const fencing_token& held) const;

    /// The command that raises the fence to `held` and, if it is not below the fence, executes
    /// `command` in the same step. Its reply is that of `command`, or an error, and then nothing
    /// was done.
    ///
    /// @param command a command as it is sent: its name and its arguments, at least one word.
    /// @param keys    the keys that it touches, for servers that need to know them.
    /// @throws error `no_token`, `bad_config` if there is no command
    std::vector<std::string> admit(
        const fencing_token& held,
        const std::vector<std::string>& command,
        const std::vector<std::string>& keys = {}
    ) const;

    /// The meaning of an error in a reply: `stale_token`, `foreign_domain`, or no code if the error
    /// is not the fence's.
    static error_code judge(std::string_view error_text) noexcept;

private:
    std::vector<std::string> call(const fencing_token& held, std::vector<std::string> keys) const;

    std::string key_;
};

}  // namespace mortise

#endif
