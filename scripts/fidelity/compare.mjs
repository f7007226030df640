// Compares what a server answered directly with what it answered through the gateway.
import {
  differences,
  memberOf,
  parseExact,
  scalar,
  stringOf,
  withMember,
  withoutMember,
} from './exact-json.mjs'

/** At `/mcp` names have the id of their server in front. The server under test always has the same id. */
export const SERVER_ID = 'one'
const NAME_PREFIX = `${SERVER_ID}__`
export const gatewayName = (name) => `${NAME_PREFIX}${name}`

/**
 * @param recorded by probe: `direct`, `control` (the same server, asked a second time) and `gateway`, each a Map from the
 *   name of a probe to `{ answers, field }`
 * @param channel what describes the way: `via`, `era` and so on; becomes part of each difference
 * @returns the number of comparisons and the differences
 */
export function compare({ direct, control, gateway }, channel) {
  const found = []
  let comparisons = 0
  const check = (probe, [ours, again, theirs]) => {
    comparisons += 1
    const unsteady = again ? differences(ours, again).map(({ path }) => path) : []
    const isSteady = ({ path }) => !unsteady.some((each) => path === each || path.startsWith(`${each}/`))
    const all = differences(ours, theirs).filter(isSteady)
    const different = all.filter(({ direct, gateway }) => withoutTimes(direct) !== withoutTimes(gateway))
    found.push(...different.map((each) => ({ ...channel, probe, at: `${each.kind} ${each.path}`, ...each })))
    return all.length === 0 && unsteady.length === 0
  }
  for (const [probe, theirs] of gateway) {
    const [ours, again] = [direct.get(probe), control?.get(probe)]
    if (!ours) continue
    const sides = [ours, again, theirs]
    const answers = sides.map((side) => side && answerIn(side, side === theirs && channel.via === 'all'))
    if (probe === 'handshake' && channel.isTranslated)
      for (const [at, each] of answers.entries()) answers[at] = each && selfDescription(each)
    const isSame = check(probe, answers)
    const texts = sides.map((side) => side?.answers.map(({ text }) => text).join('\n'))
    if (isSame && channel.via === 'server' && !channel.isTranslated && texts[0] !== texts[2])
      found.push({
        ...channel,
        probe,
        path: '',
        kind: 'bytes',
        at: 'bytes ',
        direct: texts[0],
        gateway: texts[2],
      })
    if (ours.field)
      check(
        `${probe} pages`,
        sides.map((side) => side && cursorsIn(side)),
      )
    if (sides.some((side) => side?.answers.some(({ messages }) => messages?.length > 0)))
      check(
        `${probe} messages`,
        sides.map((side) => side && messagesIn(side)),
      )
  }
  return { comparisons, differences: found }
}

/** Both direct answers may be of the same second, so that the control does not show a time of day. */
const withoutTimes = (text) => String(text).replaceAll(/\b\d{1,2}:\d{2}:\d{2}\b/g, '')

/** `{ result: … }` or `{ error: … }` as one node. */
function answerIn({ answers, field }, isPrefixed) {
  const [first, ...more] = answers.map(({ kind, text }) =>
    object({ [kind]: parseExact(isPrefixed ? withOwnPages(text) : text) }),
  )
  const result = memberOf(first, 'result')
  if (!field || !result) return first
  const items = [first, ...more].flatMap((page) => memberOf(memberOf(page, 'result'), field)?.items ?? [])
  const own = isPrefixed ? items.flatMap(withOwnName) : items
  const list = { kind: 'array', items: own, text: `[${own.length} items]` }
  return object({ result: withMember(withoutMember(result, 'nextCursor'), field, list) })
}

/** What `initialize` and `server/discover` have in common, in one form. */
function selfDescription(answer) {
  const result = memberOf(answer, 'result')
  const info = memberOf(result, 'serverInfo') ?? memberOf(memberOf(result, '_meta'), SERVER_INFO)
  const fields = {
    serverInfo: info,
    capabilities: memberOf(result, 'capabilities'),
    instructions: memberOf(result, 'instructions'),
  }
  return object({ result: object(Object.fromEntries(Object.entries(fields).filter(([, value]) => value))) })
}
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

/** At `/mcp`: without the items of other servers, and without the prefix. Resources and templates have none. */
function withOwnName(item) {
  if (memberOf(item, 'uri') || memberOf(item, 'uriTemplate')) return [item]
  const name = stringOf(memberOf(item, 'name')) ?? ''
  return name.startsWith(NAME_PREFIX)
    ? [withMember(item, 'name', scalar(name.slice(NAME_PREFIX.length)))]
    : []
}

/** At `/mcp` pages have the id of their server in their URIs. */
const withOwnPages = (text) => text.replaceAll(`"ui://${SERVER_ID}/`, '"ui://')

const cursorsIn = ({ answers }) =>
  array(
    answers.map(
      ({ kind, text }) => (kind === 'result' && memberOf(parseExact(text), 'nextCursor')) || scalar(null),
    ),
  )

const messagesIn = (side) =>
  array(
    timedMessages(side).map(({ method, text }) =>
      object({ method: scalar(method), params: parseExact(text) }),
    ),
  )

/**
 * Messages that belong to a call. Others arrive at a moment that is not determined, and so does the request for roots, which
 * servers send some time after the handshake.
 */
function timedMessages({ answers, hasMessages, hasLogs }) {
  if (!hasMessages) return []
  return answers.flatMap(({ messages = [] }) => messages).filter(isTimed(hasLogs))
}

export const isTimed =
  (hasLogs) =>
  ({ method }) =>
    method !== 'roots/list' && (hasLogs || method !== 'notifications/message')

function object(fields) {
  const members = Object.entries(fields).map(([key, value]) => ({ key, value }))
  const text = `{${members.map(({ key, value }) => `"${key}":${value.text}`).join()}}`
  return { kind: 'object', members, text }
}

const array = (items) => ({ kind: 'array', items, text: `[${items.map(({ text }) => text).join()}]` })
