-- SPDX-License-Identifier: BSL-1.0
-- KEYS[1]: the record of a store of format 1, under its name of then. Marks it, so that programs of
-- that version refuse to begin a store beside this one. Says o, or 1: there is such a store.
local format = redis.call('HGET', KEYS[1], 'f')
if not format then
    redis.call('HSET', KEYS[1], 'f', '2')
end
return format == '1' and '1' or 'o'
