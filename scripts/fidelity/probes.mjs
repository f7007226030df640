// The requests that are sent to a server in every way, in this order. They follow from what the server lists.
const LISTS = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}
const BOTH = ['legacy', 'modern']
const LEGACY_ONLY = ['legacy']
const MAX_PAGES = 20
/** Of each kind; a server with a hundred tools answers the first ones as it answers the others. */
const MAX_ITEMS = 5
/** The names of a server's tools and prompts, for a client of the server or of `/mcp/{server_id}`. */
export const OWN_NAMES = (name) => name

/**
 * `params` returns the text of the params, with the names that the client uses. `isShort` probes are repeated by clients
 * with all capabilities; those with a `profile` are sent only by its clients.
 */
const probe = (name, method, params = () => '{}', more = {}) => ({
  name,
  method,
  params,
  eras: BOTH,
  ...more,
})
const fixed = (value) => () => (typeof value === 'string' ? value : JSON.stringify(value))
/** Of a request that an entry of the list of servers names: a text, or a function of the names. */
const given = (params = '{}') => (typeof params === 'function' ? params : fixed(params))

/** @param lists the items of each list, as objects; @param server an entry of the list of servers */
export function planFor(lists, server) {
  return [
    probe('ping', 'ping', undefined, { eras: LEGACY_ONLY }),
    ...Object.entries(LISTS).map(([method, field]) =>
      probe(method, method, undefined, { field, isShort: true }),
    ),
    ...Object.keys(LISTS).flatMap((method) => [
      probe(`${method} with an unknown cursor`, method, fixed({ cursor: 'no such cursor' })),
      probe(`${method} with an empty cursor`, method, fixed({ cursor: '' })),
    ]),
    ...toolProbes(lists, server),
    ...promptProbes(lists),
    ...resourceProbes(lists),
    ...completionProbes(lists),
    ...(server.requests ?? []).map((each) =>
      probe(each.name ?? each.method, each.method, given(each.params), { isShort: true }),
    ),
    probe('unknown method', 'no/such'),
    probe('tasks/list', 'tasks/list', undefined, { eras: LEGACY_ONLY, isShort: true }),
    probe('tasks/get of an unknown task', 'tasks/get', fixed({ taskId: 'none' }), { isShort: true }),
    probe('logging/setLevel with an unknown level', 'logging/setLevel', fixed({ level: 'loud' }), {
      eras: LEGACY_ONLY,
    }),
    probe('logging/setLevel', 'logging/setLevel', fixed({ level: 'debug' }), { eras: LEGACY_ONLY }),
    ...(server.logging ?? []).map((call) => toolCall(call, 'with log messages', LOGGED)),
  ]
}
const LOGGED = { hasLogs: true, meta: { 'io.modelcontextprotocol/logLevel': 'debug' } }

function toolProbes(
  { 'tools/list': tools = [] },
  { calls = [], questions = [], badCalls = true, skipped = [] },
) {
  const checked = tools.filter(
    ({ name, inputSchema }) => inputSchema?.required?.length > 0 && !skipped.includes(name),
  )
  return [
    toolCall(['no_such_tool', {}], 'of an unknown tool'),
    probe('tools/call without a name', 'tools/call', fixed({ arguments: {} }), { eras: LEGACY_ONLY }),
    ...(badCalls ? checked : [])
      .slice(0, MAX_ITEMS)
      .flatMap(({ name }, index) => [
        toolCall([name, {}], 'without its required arguments'),
        ...(index > 0 ? [] : badForms(name)),
      ]),
    ...calls.map((call) => toolCall(call, undefined, { isShort: true })),
    ...questions.map((call) => toolCall(call, undefined, { isShort: true, profile: 'able' })),
  ]
}

const badForms = (tool) => [
  toolCall([tool, 'null'], 'with arguments null'),
  probe(`tools/call ${tool} without arguments`, 'tools/call', (named) =>
    JSON.stringify({ name: named(tool) }),
  ),
  toolCall([tool, '[]'], 'with a list of arguments'),
]

/** `call` is `[tool, arguments]` or `[tool, arguments, meta]`; arguments as text are sent as they are. */
function toolCall([tool, given, meta], what, more = {}) {
  const args = typeof given === 'string' ? given : JSON.stringify(given)
  const title = what ?? (args.length > 60 ? `${args.slice(0, 60)}… (${args.length})` : args)
  const params = (named) => `{"name":${JSON.stringify(named(tool))},"arguments":${args}}`
  return probe(`tools/call ${tool} ${title}`, 'tools/call', params, { ...(meta && { meta }), ...more })
}

function promptProbes({ 'prompts/list': prompts = [] }) {
  const get = (name, args, what) =>
    probe(`prompts/get ${name} ${what}`, 'prompts/get', (named) =>
      JSON.stringify({ name: named(name), ...(args && { arguments: args }) }),
    )
  return [
    get('no_such_prompt', {}, 'which is unknown'),
    ...prompts
      .slice(0, MAX_ITEMS)
      .flatMap(({ name, arguments: args = [] }) => [
        get(name, Object.fromEntries(args.map((each) => [each.name, '1'])), 'with all arguments'),
        ...(args.length > 0 ? [get(name, undefined, 'without arguments')] : []),
      ]),
  ]
}

function resourceProbes({ 'resources/list': resources = [] }) {
  const some = resources.slice(0, MAX_ITEMS)
  const about = (method, uri, more) => probe(`${method} ${uri}`, method, fixed({ uri }), more)
  return [
    about('resources/read', 'nothing://here'),
    ...some.map(({ uri }) => about('resources/read', uri)),
    ...some
      .slice(0, 1)
      .flatMap(({ uri }) => [
        about('resources/subscribe', uri, { eras: LEGACY_ONLY }),
        about('resources/unsubscribe', uri, { eras: LEGACY_ONLY }),
      ]),
  ]
}

function completionProbes({ 'prompts/list': prompts = [], 'resources/templates/list': templates = [] }) {
  const complete = (what, refOf, name) =>
    probe(`completion/complete of ${what}`, 'completion/complete', (named) =>
      JSON.stringify({
        ref: refOf(named),
        argument: { name, value: '' },
        context: { arguments: { a: 'b' } },
      }),
    )
  const ofPrompt = (prompt, argument) =>
    complete(`${prompt} ${argument}`, (named) => ({ type: 'ref/prompt', name: named(prompt) }), argument)
  const withArguments = prompts.filter(({ arguments: args }) => args?.length > 0)
  return [
    ofPrompt('no_such_prompt', 'a'),
    ...withArguments.slice(0, 2).map(({ name, arguments: [first] }) => ofPrompt(name, first.name)),
    ...templates.slice(0, 2).map(({ uriTemplate }) => {
      const variable = /\{[?&+#./;]?(\w+)/.exec(uriTemplate)?.[1] ?? 'none'
      return complete(uriTemplate, () => ({ type: 'ref/resource', uri: uriTemplate }), variable)
    }),
  ]
}

/** Sends one probe. A list is followed to its last page. @returns its answers, one for each page */
export async function ask(client, { method, params, field, meta }, named, hasAll) {
  const answers = [await client.request(method, params(named), { meta, hasAll })]
  while (field && answers.length < MAX_PAGES) {
    const { kind, text } = answers.at(-1)
    const { nextCursor: cursor } = kind === 'result' ? JSON.parse(text) : {}
    if (typeof cursor !== 'string') break
    answers.push(await client.request(method, JSON.stringify({ cursor }), { meta }))
  }
  return answers
}

/** The lists of a server, as objects, which the plan follows from. */
export async function listsOf(client) {
  const lists = {}
  for (const [method, field] of Object.entries(LISTS)) {
    const answers = await ask(client, probe(method, method, undefined, { field }), OWN_NAMES)
    lists[method] = answers.flatMap(({ kind, text }) =>
      kind === 'result' ? (JSON.parse(text)[field] ?? []) : [],
    )
  }
  return lists
}
