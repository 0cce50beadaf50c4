-- SPDX-License-Identifier: BSL-1.0
-- The head of every script. {P} stands for the prefix of the store's keys; what they hold is told in
-- docs/stores/redis.md. A number that is joined to a text loses digits from 10^14 on: hence `digits`.
local call, format, match = redis.call, string.format, string.match

local function digits(number)
    return format('%.0f', number)
end

local clock

-- Microseconds of the server's clock; the same in all of a script.
local function now()
    if not clock then
        local time = call('TIME')
        clock = time[1] * 1000000 + time[2]
    end
    return clock
end

local kept

-- The last base of tokens, the end of the quarantine, whether somebody watches.
local function meta()
    if not kept then
        local fields = call('HMGET', '{P}m', 'b', 'q', 'w')
        kept = {base = tonumber(fields[1] or 0), quarantine = tonumber(fields[2] or 0),
                watched = fields[3]}
    end
    return kept
end

-- Whether a session, of which `generation` and `deadline` were read, may act under this generation.
local function may_act(generation, deadline, acting)
    return generation and tonumber(generation) <= tonumber(acting) and tonumber(deadline) > now()
end

-- 2^52: who holds a lock stands in it with the ordinal less so much.
local HELD = 4503599627370496
