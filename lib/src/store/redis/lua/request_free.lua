-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION ID MODE[@HOLD][!] NAME, where ! stands for "try".
-- Says g BASE SLOT CONTENDED (granted), q BEFORE CONTENDED (queued), n (refused), c (another
-- capacity), l (the session is lost).
local S, G, id, mode, hold, try, name =
    match(ARGV[1], '^(%S+) (%d+) (%d+) (%a%d*)@?(%d*)(!?) (.*)$')
local hash, key = '{P}s:' .. S, '{P}l:' .. name

local own = call('HMGET', hash, 'g', 'd', id)
if not may_act(own[1], own[2], G) then
    return 'l'
end
-- The short way, before any rule of the queue is made: the lock is free, and nobody has asked for it.
if not own[3] and hold == '' and call('EXISTS', key) == 0 and meta().quarantine == 0 and
    not meta().watched then
    local base = digits(math.max(meta().base + 1, now()))
    local slot = mode:byte() == 112 and '1' or '0'  -- 112: permits
    call('HSET', '{P}m', 'b', base)
    call('ZADD', key, 1 - HELD, S .. ':' .. id .. ':' .. mode .. ':' .. base .. ':' .. slot)
    call('ZADD', '{P}n', 0, name)
    call('HSET', hash, id,
         'g ' .. mode .. ' - ' .. digits(now()) .. ' ' .. base .. ' ' .. slot .. ' ' .. name)
    return 'g ' .. base .. ' ' .. slot .. ' 0'
end
