-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION ID MODE[@HOLD][!] NAME, where ! stands for "try".
-- Says g BASE SLOT CONTENDED (granted), q BEFORE CONTENDED (queued), n (refused), c (another
-- capacity), l (the session is lost).
local S, G, id, mode, hold, try, name =
    match(ARGV[1], '^(%S+) (%d+) (%d+) (%a%d*)@?(%d*)(!?) (.*)$')
local hash, key = '{P}s:' .. S, '{P}l:' .. name

local own = call('HMGET', hash, 'g', 'd', id, 'q')
if not may_act(own[1], own[2], G) then
    return 'l'
end
-- The short way, without the rules of the queue: the lock is free, and nobody has asked for it.
if not own[3] and hold == '' and state().quarantine == 0 and not state().watched and
    call('SET', key, S .. ':' .. id, 'NX') then
    local base = draw()
    call('HSET', hash, id, 'a ' .. mode .. ' ' .. base .. ' ' .. name)
    return 'g ' .. base .. (mode:byte() == 112 and ' 1 0' or ' 0 0')  -- 112: permits
end
