-- SPDX-License-Identifier: BSL-1.0
-- Takes a store of format 1 over, in one step, if nobody uses it. Format 1 knew no cluster, and its
-- keys cannot all be known before they are read.
-- KEYS: s, u, id, b of this format; then the prefix of the other one and id, t, u, m, d, b.
-- Says o, or b: a session of that format may be alive.
local old = sub(KEYS[5], 1, -3)
if call('ZCOUNT', KEYS[9], '(' .. digits(now()), '+inf') > 0 then
    return 'b'
end
local record = call('HMGET', KEYS[5], 'f', 'n', 'r', 'o', 't')
if record[1] ~= '1' then
    return 'o'
end
for _, session in ipairs(call('ZRANGE', KEYS[9], 0, -1)) do
    for _, entry in ipairs(call('HVALS', old .. 's:' .. session)) do
        local name = match(entry, '^a %a%d* %d+ (.*)$') or match(entry, '^w %a%d* %S+ %d+ (.*)$') or
            match(entry, '^g %a%d* %S+ %d+ %d+ %d+ (.*)$')
        if name then
            call('DEL', old .. 'l:' .. name)
        end
    end
    call('DEL', old .. 's:' .. session)
end
local till = tonumber(call('HGET', KEYS[8], 'q') or 0)
for from, to in pairs({[7] = 2, [10] = 4}) do
    if call('EXISTS', KEYS[from]) == 1 then
        call('RENAME', KEYS[from], KEYS[to])
    end
end
call('HSET', KEYS[1], 't', (call('GET', KEYS[6]) or '0') .. (till > now() and ' ' .. digits(till) .. ' 0' or ''))
if record[5] then  -- The longest TTL, which the first stores kept for ever.
    call('ZADD', KEYS[2], digits(now() + record[5] * 1000), record[5])
end
call('DEL', KEYS[5], KEYS[6], KEYS[8], KEYS[9], old .. 'w', old .. 'x')
call('HSET', KEYS[5], 'f', '2')
call('HSET', KEYS[3], 'f', '2', 'n', record[2], 'r', record[3], 'o', record[4])
return 'o'
