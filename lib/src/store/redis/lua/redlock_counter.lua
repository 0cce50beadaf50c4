-- SPDX-License-Identifier: BSL-1.0
-- KEYS: .... Says whether the node knows its counters (1 or 0), the largest of them, the time, and the
-- longest TTL that it has heard of, in ms.
local top = call('ZREVRANGE', COUNTERS, 0, 0, 'WITHSCORES')
local state = call('HMGET', ID, 'knows', 'floor', 'longest')
return {state[1] or '0', digits(math.max(tonumber(top[2] or 0), tonumber(state[2] or 0))),
    digits(now()), state[3] or '0'}
