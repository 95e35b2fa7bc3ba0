-- enqueue: joins equal work in flight, else admits or sheds a task, else writes it.
-- Idempotent by task id: a command that was sent again changes nothing.
--
-- KEYS 1 stream of the lane     2 task hash      3 work in flight (hash)
--      4 load account (hash)    5 stored result
-- ARGV 1 task id    2 image    3 spec    4 SHA-256    5 work key    6 tenant    7 edge
--      8 milliseconds left until the deadline          9 traceparent
--     10 most tasks admitted   11 most bytes admitted  12 format of the entry
--
-- Returns {'admitted', task id, tasks admitted, deadline}
--      or {'joined', task id of the equal work, tasks admitted, deadline}
--      or {'shed', 'count' or 'bytes', tasks admitted}
local id, image, sha256, work, tenant, edge = ARGV[1], ARGV[2], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local bytes = #image
local time = redis.call('TIME')
local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[8]

local load = redis.call('HMGET', KEYS[4], 'count', 'bytes', 'count:' .. tenant, 'bytes:' .. tenant)
local count, total = tonumber(load[1] or 0), tonumber(load[2] or 0)

-- The marker is the task's own where a lost reply made the client send again.
local inFlight = redis.call('HGET', KEYS[3], work)
if inFlight and inFlight ~= id then
  local key = string.sub(KEYS[2], 1, -#id - 1) .. inFlight
  local task = redis.call('HMGET', key, 'ledger', 'deadline', 'edges', 'waiters')
  if task[1] and string.match(task[1], '^%S+ %S+ (%S+)') == sha256 then
    if deadline > tonumber(task[2]) then
      redis.call('HSET', key, 'deadline', string.format('%.0f', deadline))
    end
    if not string.find(' ' .. task[3] .. ' ', ' ' .. edge .. ' ', 1, true) then
      redis.call('HSET', key, 'edges', task[3] .. ' ' .. edge)
    end
    redis.call('HSET', key, 'waiters', tonumber(task[4] or 1) + 1)
    return { 'joined', inFlight, count, deadline }
  end
end

-- A result that is still there means that the task ran and left before the command was sent again.
if redis.call('EXISTS', KEYS[2], KEYS[5]) > 0 then
  return { 'admitted', id, count, deadline }
end

if count + 1 > tonumber(ARGV[10]) then return { 'shed', 'count', count } end
if total + bytes > tonumber(ARGV[11]) then return { 'shed', 'bytes', count } end

local entry = redis.call('XADD', KEYS[1], '*', 'v', ARGV[12], 'id', id, 'bytes', bytes, 'trace', ARGV[9])
-- ledger: what the scripts must know of a task when it leaves.
redis.call('HSET', KEYS[2],
  'ledger', entry .. ' ' .. bytes .. ' ' .. sha256 .. ' ' .. work .. ' ' .. tenant,
  'deadline', string.format('%.0f', deadline), 'edges', edge, 'spec', ARGV[3], 'image', image)
-- Where other bytes of the same MD5 are in flight the marker stays theirs.
if not inFlight then redis.call('HSET', KEYS[3], work, id) end
redis.call('HSET', KEYS[4],
  'count', count + 1, 'bytes', string.format('%.0f', total + bytes),
  'count:' .. tenant, tonumber(load[3] or 0) + 1,
  'bytes:' .. tenant, string.format('%.0f', tonumber(load[4] or 0) + bytes))
return { 'admitted', id, count + 1, deadline }
