-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION. Ends it: releases all that it holds and withdraws all that it asked for.
-- Says o, or m (call again, there is more).
local S = ARGV[1]
local hash = '{P}s:' .. S
if call('EXISTS', hash) == 0 then
    return 'o'
end
call('HDEL', hash, '')  -- Allowed without memory; so are all writes after it.
mark_dead(S)
local _, left = bury(S)
finish()
return left and 'm' or 'o'
