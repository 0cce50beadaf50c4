-- SPDX-License-Identifier: BSL-1.0
-- ARGV: how many waiters of each lock, then the names of locks.
-- Says NOW, DOMAIN, and of each lock that somebody holds or waits for: its name, how many wait, and
-- its parties, each as its full session, host, label, process and entry.
local queue_max = tonumber(ARGV[1])
local said = {digits(now()), call('HGET', '{P}id', 'o') or ''}
for at = 2, #ARGV do
    local key, members, waiting = '{P}l:' .. ARGV[at], {}, 0
    local alone = redis.pcall('GET', key)
    if type(alone) == 'string' then
        members[1] = alone
    elseif alone then
        waiting = call('ZCOUNT', key, 0, '+inf')
        local holding = call('ZCARD', key) - waiting
        members = call('ZRANGE', key, 0, holding + math.min(queue_max, waiting) - 1)
    end
    local parties = {}
    for _, member in ipairs(members) do
        local session, id = match(member, '^([^:]+):(%d+)')
        local read = session and call('HMGET', '{P}s:' .. session, 'i', 'h', 'l', 'p', id)
        if read and read[1] and read[5] then
            parties[#parties + 1] = read
        end
    end
    if #members > 0 or waiting > 0 then
        said[#said + 1] = {ARGV[at], waiting, parties}
    end
end
return said
