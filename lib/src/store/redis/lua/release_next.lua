-- The other short way of a release: an exclusive lock goes from its holder to the first who waits,
-- and nothing about them is out of the ordinary. Otherwise the rules of the queue decide;
-- release_alone.lua comes before. Says whether that was done.
local function pass_on(of_lock)
    local key = '{P}l:' .. of_lock
    local some = redis.pcall('ZRANGE', key, 0, 2, 'WITHSCORES')
    if some[1] ~= S .. ':' .. id .. ':x' then
        return false
    elseif not some[3] then
        call('DEL', key)
        call('HDEL', hash, id)
        return true
    end
    local session, request = match(some[3], '^([^:]+):(%d+):x$')
    local third = some[5] and match(some[5], '^([^:]+):')
    if not session or session == S or third == session then
        return false
    end
    local its_hash, inbox = '{P}s:' .. session, '{P}i:' .. session
    local read = call('HMGET', its_hash, 'd', request, 'c', 'q')
    if not read[1] or tonumber(read[1]) <= now() or
        match(read[2] or '', '^w x %- %d+ (.*)$') ~= of_lock then
        return false
    end
    local heard = redis.pcall('PUBSUB', 'NUMSUB', inbox)
    if heard.err or heard[2] == 0 then
        return false
    end
    call('ZREM', key, some[1])
    call('HDEL', hash, id)
    local given = draw()
    call('ZADD', key, digits(some[4] - HELD), some[3])
    call('HSET', its_hash, request, 'g x - ' .. digits(now()) .. ' ' .. given .. ' 0 ' .. of_lock,
         'q', read[4] - 1, 'c', read[3] + 1)
    redis.pcall('PUBLISH', inbox, 'g ' .. request .. ' ' .. given .. ' 0 ' .. (third and '1' or '0'))
    return true
end

its_base, name = match(own[3] or '', '^g x %- %d+ (%d+) 0 (.*)$')
if its_base == base and state().quarantine == 0 and not state().watched and pass_on(name) then
    return 'y'
end
