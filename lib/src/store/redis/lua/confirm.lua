-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION. A write, for the replicas to acknowledge with all that came before.
-- Says o or l.
local S, G = match(ARGV[1], '^(%S+) (%d+)$')
local own = call('HMGET', '{P}s:' .. S, 'g', 'd')
if not may_act(own[1], own[2], G) then
    return 'l'
end
call('HDEL', '{P}s:' .. S, '')
call('HSET', '{P}s:' .. S, 'd', own[2])
return 'o'
