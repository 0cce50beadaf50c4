-- SPDX-License-Identifier: BSL-1.0
-- What scripts with a clock begin with. A number that is joined to a text loses digits from 10^14 on:
-- hence `digits`.
local call, format, match, sub = redis.call, string.format, string.match, string.sub

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

