-- SPDX-License-Identifier: BSL-1.0
-- The head of the scripts of the queue form. {P} stands for the prefix of the store's keys;
-- docs/stores/redis.md says what they hold. A number that is joined to a text loses digits from
-- 10^14 on: hence `digits`. A command costs more than dozens of a script's own steps: call few
-- where many locks are taken.
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

-- What is out of the ordinary: the end of a quarantine, whether somebody watches.
local function state()
    if not kept then
        kept = {quarantine = 0}
        if call('EXISTS', '{P}m') == 1 then
            local fields = call('HMGET', '{P}m', 'q', 'w')
            kept.quarantine, kept.watched = tonumber(fields[1] or 0), fields[2]
        end
    end
    return kept
end

-- Whether a session with this generation and deadline may act under the generation `acting`.
local function may_act(generation, deadline, acting)
    return generation and tonumber(generation) <= tonumber(acting) and tonumber(deadline) > now()
end

-- The next base of tokens.
local function draw()
    local base = digits(now())
    -- SET with GET would need a server of version 6.2.
    local last = tonumber(call('GETSET', '{P}t', base) or 0)
    if last >= now() then
        base = digits(last + 1)
        call('SET', '{P}t', base)
    end
    return base
end

-- 2^52: the score of a holder is its ordinal less this.
local HELD = 4503599627370496
