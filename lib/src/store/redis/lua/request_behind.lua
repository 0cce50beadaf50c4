-- SPDX-License-Identifier: BSL-1.0
-- The other short way of a request: behind the holder of an exclusive lock that nobody waits for
-- yet. Otherwise the rules of the queue decide; request_free.lua comes before. Says whether that
-- was done.
local function stand_behind()
    local some = redis.pcall('ZRANGE', key, 0, 1, 'WITHSCORES')
    local session, request = match(some[1] or '', '^([^:]+):(%d+):x$')
    if not session or session == S or some[3] or tonumber(some[2]) > 0 then
        return false
    end
    local its_hash = '{P}s:' .. session
    local read = call('HMGET', its_hash, 'd', request)
    local base = match(read[2] or '', '^g x %- %d+ (%d+) 0 ')
    if not base or tonumber(read[1]) <= now() then
        return false
    end
    call('HSET', hash, id, 'w x - ' .. digits(now()) .. ' ' .. name, 'q', own[4] + 1)
    call('ZADD', key, digits(some[2] + HELD + 1), S .. ':' .. id .. ':x')
    call('HINCRBY', its_hash, 'c', 1)
    redis.pcall('PUBLISH', '{P}i:' .. session, 't ' .. request .. ' ' .. base .. ' 0')
    return true
end

if not own[3] and mode == 'x' and hold == '' and try == '' and state().quarantine == 0 and
    not state().watched and stand_behind() then
    return 'q 1 0'
end
