-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION. Has the session told of the next change of any lock. Says o or l.
local S, G = match(ARGV[1], '^(%S+) (%d+)$')
local own = call('HMGET', '{P}s:' .. S, 'g', 'd')
if not may_act(own[1], own[2], G) then
    return 'l'
end
call('SADD', '{P}w', S)
call('HSET', '{P}m', 'w', 1)
return 'o'
