// Sends prepared bytes over raw sockets, so that the load costs little and the same for every subject.
// A job is { port, lanes, times, steps }: `lanes` connections run through the steps, `times` times in total; each run is
// timed. In a step, $SESSION is replaced by the session id of the last response that had one, and $ID by a four-digit id
// that is unique per lane, because two requests of one session must not share an id.
import { createConnection } from 'node:net'

const SESSION = '$SESSION'
const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')
const BEGINNING_BYTES = 4096

process.on('message', (job) => {
  run(job).then(
    (done) => process.send(done),
    (error) => process.send({ error: error.message }),
  )
})
process.on('disconnect', () => process.exit(0))

async function run({ port, lanes, times, steps }) {
  const ms = []
  let begun = 0
  const sockets = await Promise.all(Array.from({ length: lanes }, () => connect(port)))
  const startedAt = performance.now()
  const lane = async (socket, number) => {
    const named = steps.map((step) => step.replaceAll('$ID', String(1000 + number)))
    const requests = named.map((step) => (step.includes(SESSION) ? step : Buffer.from(step)))
    while (begun < times) {
      begun += 1
      const askedAt = performance.now()
      for (const step of requests) await socket.ask(step)
      ms.push(performance.now() - askedAt)
    }
  }
  try {
    await Promise.all(sockets.map(lane))
  } finally {
    for (const socket of sockets) socket.close()
  }
  const seconds = (performance.now() - startedAt) / 1000
  ms.sort((a, b) => a - b)
  const at = (share) => ms[Math.min(ms.length - 1, Math.floor(ms.length * share))]
  return { p50: at(0.5), p99: at(0.99), perSecond: ms.length / seconds }
}

function connect(port) {
  const socket = createConnection({ port, host: '127.0.0.1', noDelay: true })
  let session = ''
  let settle
  let head = ''
  let left = 0
  let isChunked = false
  let beginning = Buffer.alloc(0)

  socket.on('data', (chunk) => {
    let body = chunk
    if (head === '') {
      const end = chunk.indexOf(HEAD_END)
      if (end === -1) return fail(new Error('the head of a response was split'))
      head = chunk.latin1Slice(0, end)
      body = chunk.subarray(end + HEAD_END.length)
      isChunked = /\r\ntransfer-encoding: chunked/i.test(head)
      left = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
      const opened = head.includes('ession') && /\r\nmcp-session-id: (\S+)/i.exec(head)?.[1]
      if (opened) session = opened
    }
    left -= body.length
    if (beginning.length < BEGINNING_BYTES)
      beginning = beginning.length === 0 ? body : Buffer.concat([beginning, body])
    const isEnd = isChunked ? body.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) : left <= 0
    if (isEnd) end()
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the connection was closed')))

  function end() {
    const { resolve, reject } = settle
    const isWell = /^HTTP\/1.1 20[24]/.test(head) || (head.startsWith('HTTP/1.1 200') && isResult(beginning))
    const text = isWell || `${head}\n\n${beginning.toString('utf8', 0, 1000)}`
    head = ''
    beginning = Buffer.alloc(0)
    if (isWell) resolve()
    else reject(new Error(`not a result: ${text}`))
  }

  function fail(error) {
    settle?.reject(error)
  }

  return new Promise((opened, failed) => {
    settle = { reject: failed }
    socket.once('connect', () => {
      opened({
        ask: (step) =>
          new Promise((resolve, reject) => {
            settle = { resolve, reject }
            socket.write(typeof step === 'string' ? step.replaceAll(SESSION, session) : step)
          }),
        close: () => socket.removeAllListeners('close').destroy(),
      })
    })
  })
}

const isResult = (text) => text.subarray(0, BEGINNING_BYTES).includes('"result"')
