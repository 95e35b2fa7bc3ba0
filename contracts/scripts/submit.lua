-- submit: records a request that was accepted and whose caller comes back for the result. It runs after its task was
-- enqueued or joined, and before the caller is told. Idempotent: what is recorded stays as it is.
--
-- KEYS 1 submission (hash)    2 task hash    3 stored result    4 load account (hash)
--      5 Idempotency-Key, where there is one: from now on it lasts as long as the submission
-- ARGV 1 tenant    2 task id    3 deadline    4 milliseconds that a result is kept past the deadline
--      5 what kind of task the model does
--
-- Returns 1
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
local time = redis.call('TIME')
local timeLeft = math.max(0, ARGV[3] - (time[1] * 1000 + math.floor(time[2] / 1000)))
-- A task may end at once: its result must not go before the submission does, or an end that was told would be lost.
local keep = timeLeft + ARGV[4]
local kept = string.format('%.0f', keep)
-- How many were admitted before tells later how many stand before it.
redis.call('HSET', KEYS[1], 'tenant', ARGV[1], 'task', ARGV[2], 'deadline', ARGV[3], 'kind', ARGV[5],
  'number', redis.call('HGET', KEYS[4], 'admitted') or 0)
redis.call('PEXPIRE', KEYS[1], kept)
if KEYS[5] then redis.call('PEXPIRE', KEYS[5], kept) end
if redis.call('EXISTS', KEYS[2]) == 1 then
  if keep > tonumber(redis.call('HGET', KEYS[2], 'keep') or 0) then redis.call('HSET', KEYS[2], 'keep', kept) end
elseif keep > redis.call('PTTL', KEYS[3]) then
  redis.call('PEXPIRE', KEYS[3], kept)
end
return 1
