// 2026-07-28: all clients share one process, so ids, progress tokens and subscription ids are rewritten.
import { headerProblem } from './headers.mjs'
import { Reply, refuse } from './wire.mjs'

const META = 'io.modelcontextprotocol'
const STATUS = { [-32601]: 404, [-32020]: 400, [-32021]: 400, [-32022]: 400 }

const calls = new Map()
let lastId = 0

export async function answerModern(request, response, message, child) {
  const { id = null, method, params } = message
  if (method === undefined)
    return refuse(response, 400, -32600, 'Responses from a client are not supported', id)
  if (message.id === undefined) return response.writeHead(202).end()
  const meta = params?._meta ?? {}
  const tools = async () => (await askItself(child, 'tools/list', meta)).result?.tools ?? []
  const problem = await headerProblem(request.headers, message, tools)
  if (problem) return refuse(response, 400, -32020, problem, id)
  const statusOf = ({ error }) => (isIncomplete(meta) ? 400 : (STATUS[error?.code] ?? 200))
  const reply = new Reply(response, { statusOf })
  const ours = begin(child, {
    id,
    token: meta.progressToken,
    hears: meta[`${META}/logLevel`] !== undefined,
    reply,
  })
  // In this era a closed connection cancels the request.
  response.on('close', () => {
    if (!calls.delete(ours)) return
    child.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: ours } })
  })
  child.send({ ...message, id: ours, ...(params && { params: withToken(params, ours) }) })
}

const isIncomplete = (meta) =>
  meta[`${META}/protocolVersion`] === undefined || meta[`${META}/clientCapabilities`] === undefined

function begin(child, call) {
  child.onMessage = pass
  calls.set(++lastId, call)
  return lastId
}

function withToken(params, token) {
  if (params._meta?.progressToken === undefined) return params
  return { ...params, _meta: { ...params._meta, progressToken: token } }
}

/** A request of the pipe itself, with the client's `_meta`. */
function askItself(child, method, meta) {
  return new Promise((resolve) => {
    const reply = { event: () => undefined, end: resolve }
    const id = begin(child, { id: 0, reply })
    child.send({ jsonrpc: '2.0', id, method, params: { _meta: meta } })
  })
}

function pass(message) {
  if (message.method === undefined) return finish(message)
  const { method, params } = message
  const subscription = params?._meta?.[`${META}/subscriptionId`]
  if (subscription !== undefined) {
    const call = calls.get(subscription)
    const _meta = { ...params._meta, [`${META}/subscriptionId`]: call?.id }
    return call?.reply.event({ ...message, params: { ...params, _meta } })
  }
  if (method === 'notifications/progress') {
    const call = calls.get(params.progressToken)
    return call?.reply.event({ ...message, params: { ...params, progressToken: call.token } })
  }
  // On stdio a log message does not name its request. Requests without a log level get none.
  for (const { hears, reply } of calls.values()) if (hears) reply.event(message)
}

function finish(message) {
  const call = calls.get(message.id)
  calls.delete(message.id)
  call?.reply.end({ ...message, id: call.id })
}
