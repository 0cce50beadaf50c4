-- SPDX-License-Identifier: BSL-1.0
-- ARGV: how many waiters of each lock, then the names of locks.
-- Says NOW, DOMAIN, and of each lock that somebody holds or waits for: its name, how many wait, and
-- its parties, each as its full session, host, label, process, entry and deadline. Leaves out dead
-- sessions and ended grants that no heartbeat has buried yet.
local queue_max = tonumber(ARGV[1])
local gone, any_gone = {}, false
for _, key in ipairs({'{P}d', '{P}x'}) do
    for _, over in ipairs(call('ZRANGEBYSCORE', key, '-inf', digits(now()))) do
        gone[over], any_gone = true, true
    end
end

-- Of the members of a lock: the living holders and first waiters, and how many wait.
local function living(members, holding)
    local kept, waiting = {}, 0
    for at, member in ipairs(members) do
        local session, id = match(member, '^([^:]+):(%d+)')
        if not session or not (gone[session] or gone[session .. ':' .. id]) then
            waiting = waiting + (at > holding and 1 or 0)
            if at <= holding or waiting <= queue_max then
                kept[#kept + 1] = member
            end
        end
    end
    return kept, waiting
end

local reply = {digits(now()), call('HGET', '{P}id', 'o') or ''}
for at = 2, #ARGV do
    local key, members, waiting, holding = '{P}l:' .. ARGV[at], {}, 0, 1
    local alone = redis.pcall('GET', key)
    if type(alone) == 'string' then
        members[1] = alone
    elseif alone then
        waiting = call('ZCOUNT', key, 0, '+inf')
        holding = call('ZCARD', key) - waiting
        local shown = any_gone and waiting or math.min(queue_max, waiting)
        members = call('ZRANGE', key, 0, holding + shown - 1)
    end
    if any_gone then
        members, waiting = living(members, holding)
    end
    local parties = {}
    for _, member in ipairs(members) do
        local session, id = match(member, '^([^:]+):(%d+)')
        local read = session and call('HMGET', '{P}s:' .. session, 'i', 'h', 'l', 'p', id, 'd')
        if read and read[1] and read[5] then
            parties[#parties + 1] = read
        end
    end
    if #members > 0 or waiting > 0 then
        reply[#reply + 1] = {ARGV[at], waiting, parties}
    end
end
return reply
