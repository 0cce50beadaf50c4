-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION. Ends it: everything it holds is released and everything it asked for withdrawn.
-- Says o, or m: call again, there is more.
local S = ARGV[1]
local hash = '{P}s:' .. S
if call('EXISTS', hash) == 0 then
    return 'o'
end
call('HDEL', hash, '')  -- The first write may be done without memory, and then all that follow.
call('HSET', hash, 'd', 0)
call('ZADD', '{P}d', 'XX', 0, S)
local _, left = bury(S)
finish()
return left and 'm' or 'o'
