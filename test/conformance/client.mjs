// A scripted client for the suite's client scenarios: it connects with Toolroom's client for HTTP servers, calls everything
// it finds, and answers every server request. The suite appends the URL.
//   node test/conformance/client.mjs <folder of the bundle> <url>
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, url] = process.argv.slice(2)
const load = (name) => import(pathToFileURL(join(folder, `${name}.mjs`)).href)
const { HttpMcpClient } = await load('http-mcp-client')
const { headerProblem } = await load('x-mcp-header')

const { MCP_CONFORMANCE_CONTEXT = '{}', MCP_CONFORMANCE_PROTOCOL_VERSION: version } = process.env
const { toolCalls } = JSON.parse(MCP_CONFORMANCE_CONTEXT)
const options = { timeoutMs: 20_000, onServerRequest, capabilities: { sampling: {}, elicitation: {} } }
let tools = []

const connection = new HttpMcpClient({
  url,
  headers: {},
  transport: 'auto',
  version: '0.1.0',
  // Presets the negotiated version: the suite expects one revision and no other.
  known: version === undefined ? null : { transport: 'streamable_http', protocol_version: version },
  onTools: (list) => {
    tools = list.tools
  },
})

try {
  await connection.connect(20_000)
  // Like the gateway, which does not offer such tools.
  const offered = tools.filter(({ inputSchema }) => headerProblem(inputSchema) === undefined)
  const calls =
    toolCalls ?? offered.map((tool) => ({ name: tool.name, arguments: exampleOf(tool.inputSchema) }))
  const results = await Promise.all(calls.map((each) => connection.call(each.name, each.arguments, options)))
  for (const { value } of results) console.log(JSON.stringify(value))
  await useAll('resources/list', 'resources', 'resources/read', ({ uri }) => ({ uri }))
  await useAll('prompts/list', 'prompts', 'prompts/get', ({ name, arguments: args = [] }) => ({
    name,
    arguments: Object.fromEntries(args.map((each) => [each.name, 'x'])),
  }))
} catch (error) {
  console.error(`${error.code ?? error.reason ?? error.name}: ${error.message}`)
  process.exitCode = 1
} finally {
  await connection.close()
}

async function useAll(list, field, use, paramsOf) {
  if (!connection.handshake.capabilities[field]) return
  const { value } = await connection.relay(list, {}, options)
  for (const each of value[field]) await connection.relay(use, paramsOf(each), options)
}

/** A value for each required property. */
function exampleOf({ properties = {}, required = [] }) {
  return Object.fromEntries(required.map((name) => [name, valueFor(properties[name] ?? {})]))
}

function valueFor({ type, default: usual }) {
  if (usual !== undefined) return usual
  // Only schemas that were listed are requested.
  return (
    { string: 'x', integer: 2, number: 2, boolean: true, array: [], object: tools[0].inputSchema }[type] ??
    null
  )
}

/** A user who accepts everything with the suggested values. */
async function onServerRequest(method, { requestedSchema }) {
  if (method === 'sampling/createMessage')
    return { role: 'assistant', model: 'none', content: { type: 'text', text: 'x' } }
  const { properties } = requestedSchema
  return {
    action: 'accept',
    content: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, valueFor(each)])),
  }
}
