-- SPDX-License-Identifier: BSL-1.0
-- KEYS: .... ARGV: session, generation. Marks the session as dead. Says 1 if it lived, else 0.
if not is_present(ARGV[1], ARGV[2]) then
    return 0
end
call('HDEL', SESSIONS, '')  -- Allowed without memory; so are all writes after it.
call('ZADD', DEADLINES, digits(now()), ARGV[1])
return 1
