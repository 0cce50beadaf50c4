-- SPDX-License-Identifier: BSL-1.0
-- The head of the scripts of the single-key form: a lock is one key, whose value names the request
-- that holds it by 40 hexadecimal digits, and its token after a colon, if tokens were asked for.
-- Clients of other makes have values of their own.
local call, try, sub = redis.call, redis.pcall, string.sub

local ID_SIZE = 40

-- The value at the key; nothing if it is no text.
local function value_at(key)
    local value = try('GET', key)
    return type(value) == 'string' and value
end

local function is_of(value, id)
    return value and (value == id or sub(value, 1, ID_SIZE + 1) == id .. ':')
end

local function channel_of(key)
    return 'mortise:released:' .. key
end

-- Publishes first: a user who may not publish must not free, either.
local function free(key)
    call('PUBLISH', channel_of(key), '')
    call('DEL', key)
end

-- How many listen for the release of that lock.
local function waiting_for(key)
    local subscribers = try('PUBSUB', 'NUMSUB', channel_of(key))
    return tonumber(subscribers[2]) or 0
end

-- The base of a token that was not drawn before, even if the counter was forgotten.
local function next_base(counter)
    local time = call('TIME')
    local last = tonumber(call('GET', counter) or 0)
    if not last then
        error('the counter of the tokens is none')
    end
    return string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
end
