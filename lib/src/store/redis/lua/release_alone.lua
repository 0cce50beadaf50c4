-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION ID BASE[:SLOT]. Says y or n: whether the grant was there; l.
local S, G, id, base, slot = match(ARGV[1], '^(%S+) (%d+) (%d+) (%d+):?(%d*)$')
local hash = '{P}s:' .. S
if slot == '' then
    slot = '0'
end
local own = call('HMGET', hash, 'g', 'd', id)
if not may_act(own[1], own[2], G) then
    return 'l'
end
-- The short way, before any rule of the queue is made: nobody else holds the lock or waits for it.
local its_base, its_slot, name = match(own[3] or '', '^g %a%d* %- %d+ (%d+) (%d+) (.*)$')
if its_base == base and its_slot == slot and call('ZCARD', '{P}l:' .. name) == 1 and
    not meta().watched then
    call('DEL', '{P}l:' .. name)
    call('HDEL', hash, id)
    call('ZREM', '{P}n', name)
    return 'y'
end
