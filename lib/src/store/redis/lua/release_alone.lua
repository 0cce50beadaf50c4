-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION ID BASE[:SLOT]. Says y or n: whether the grant was there; l.
local S, G, id, base, slot = match(ARGV[1], '^(%S+) (%d+) (%d+) (%d+):?(%d*)$')
local hash = '{P}s:' .. S
local own = call('HMGET', hash, 'g', 'd', id)
if not may_act(own[1], own[2], G) then
    return 'l'
end
-- The short way, without the rules of the queue: the lock was taken the short way, nobody came
-- since.
local its_base, name = match(own[3] or '', '^a %a%d* (%d+) (.*)$')
if its_base == base and not state().watched and
    redis.pcall('GET', '{P}l:' .. name) == S .. ':' .. id then
    call('DEL', '{P}l:' .. name)
    call('HDEL', hash, id)
    return 'y'
end
