-- SPDX-License-Identifier: BSL-1.0
-- ARGV: key, id, the key of the counter of tokens. Says one more base for the grant; nothing if the
-- id does not hold the key.
if not is_of(value_at(ARGV[1]), ARGV[2]) then
    return false
end
local base = next_base(ARGV[3])
call('SET', ARGV[3], base)
return base
