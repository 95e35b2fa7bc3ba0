-- enqueue: joins equal work in flight, else admits or sheds a task, else writes it.
-- Idempotent by task id: a command that was sent again changes nothing.
-- The image travels in a SET of its own ahead of this script (handing it to Lua costs Redis several times as much);
-- where the task is not written the image is deleted here, and an image without a task expires.
--
-- KEYS 1 stream of the lane     2 task hash      3 image
--      4 work in flight (hash)  5 load account (hash)    6 stored result
-- ARGV 1 task id    2 spec    3 SHA-256    4 work key    5 tenant    6 edge
--      7 milliseconds left until the deadline    8 traceparent    9 format of the entry
--     10 most tasks admitted   11 most bytes admitted
--     12 milliseconds that an image outlives the deadline
--
-- Returns {'admitted', task id, tasks admitted, deadline}
--      or {'joined', task id of the equal work, tasks admitted, deadline}
--      or {'shed', 'count' or 'bytes' or 'memory', tasks admitted}
local id, sha256, work, tenant, edge = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local time = redis.call('TIME')
local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[7]
local deadlineText = string.format('%.0f', deadline)
local load = redis.call('HMGET', KEYS[5], 'count', 'bytes', 'count:' .. tenant, 'bytes:' .. tenant)
local count, total = tonumber(load[1] or 0), tonumber(load[2] or 0)

-- The marker is the task's own where a lost reply made the client send again.
local inFlight = redis.call('HGET', KEYS[4], work)
if inFlight and inFlight ~= id then
  local key = string.sub(KEYS[2], 1, -#id - 1) .. inFlight
  local task = redis.call('HMGET', key, 'ledger', 'deadline', 'edges', 'waiters')
  if task[1] and string.match(task[1], '^%S+ %S+ (%S+)') == sha256 then
    redis.call('DEL', KEYS[3])
    if deadline > tonumber(task[2]) then
      redis.call('HSET', key, 'deadline', deadlineText)
      redis.call('PEXPIRE', string.sub(KEYS[3], 1, -#id - 1) .. inFlight, ARGV[7] + ARGV[12])
    end
    if not string.find(' ' .. task[3] .. ' ', ' ' .. edge .. ' ', 1, true) then
      redis.call('HSET', key, 'edges', task[3] .. ' ' .. edge)
    end
    redis.call('HSET', key, 'waiters', tonumber(task[4] or 1) + 1)
    return { 'joined', inFlight, count, deadline }
  end
end

if redis.call('EXISTS', KEYS[2], KEYS[6]) > 0 then
  -- A result without a task: it ran and left before the command was sent again.
  if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('DEL', KEYS[3]) end
  return { 'admitted', id, count, deadline }
end

local bytes = redis.call('STRLEN', KEYS[3])
local limit = bytes == 0 and 'memory'
  or count + 1 > tonumber(ARGV[10]) and 'count'
  or total + bytes > tonumber(ARGV[11]) and 'bytes'
if limit then
  redis.call('DEL', KEYS[3])
  return { 'shed', limit, count }
end

local entry = redis.call('XADD', KEYS[1], '*',
  'v', ARGV[9], 'id', id, 'deadline', deadlineText, 'trace', ARGV[8], 'spec', ARGV[2])
-- Where other bytes of the same MD5 are in flight the marker stays theirs.
if not inFlight then redis.call('HSET', KEYS[4], work, id) end
-- ledger: what the scripts must know of a task when it leaves.
redis.call('HSET', KEYS[2], 'deadline', deadlineText, 'edges', edge, 'ledger',
  entry .. ' ' .. bytes .. ' ' .. sha256 .. ' ' .. (inFlight and '-' or work) .. ' ' .. tenant)
redis.call('HSET', KEYS[5],
  'count', count + 1, 'bytes', string.format('%.0f', total + bytes),
  'count:' .. tenant, (load[3] or 0) + 1, 'bytes:' .. tenant, string.format('%.0f', (load[4] or 0) + bytes))
return { 'admitted', id, count + 1, deadline }
