-- SPDX-License-Identifier: BSL-1.0
-- KEYS[1]: a fence. ARGV: a token in 19 digits, its domain, and maybe a command. Raises the fence
-- to the token and executes the command, unless the token is below the fence.
local fence = redis.call('HMGET', KEYS[1], 'token', 'domain')
if fence[2] and fence[2] ~= ARGV[2] then
    return redis.error_reply('MORTISEDOMAIN the token is of ' .. ARGV[2] .. ', the fence of ' .. fence[2])
end
if fence[1] and fence[1] > ARGV[1] then
    return redis.error_reply('MORTISESTALE the fence stands at ' .. fence[1])
end
if fence[1] ~= ARGV[1] then
    redis.call('HSET', KEYS[1], 'token', ARGV[1], 'domain', ARGV[2])
end
if #ARGV > 2 then
    return redis.call(unpack(ARGV, 3))
end
return redis.status_reply('OK')
