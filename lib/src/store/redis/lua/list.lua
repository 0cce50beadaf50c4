-- SPDX-License-Identifier: BSL-1.0
-- ARGV: "after" or "name", that name, how many locks, how many waiters of each.
-- Says NOW, DOMAIN, and of each lock: its name, how many wait, and its parties, each as its full
-- session, host, label, process and entry.
local how, name, limit, queue_max = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local names = {name}
if how == 'after' then
    names = call('ZRANGEBYLEX', '{P}n', name == '' and '-' or '(' .. name, '+', 'LIMIT', 0, limit)
end
local said = {digits(now()), call('HGET', '{P}id', 'o') or ''}
for _, each in ipairs(names) do
    local key = '{P}l:' .. each
    local waiting = call('ZCOUNT', key, 0, '+inf')
    local holding = call('ZCARD', key) - waiting
    if waiting + holding > 0 then
        local parties = {}
        for _, member in ipairs(call('ZRANGE', key, 0, holding + math.min(queue_max, waiting) - 1)) do
            local session, id = parts(member)
            local read = call('HMGET', '{P}s:' .. session, 'i', 'h', 'l', 'p', id)
            if read[1] and read[5] then
                parties[#parties + 1] = read
            end
        end
        said[#said + 1] = {each, waiting, parties}
    end
end
return said
