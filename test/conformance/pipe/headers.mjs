// Checks that the headers of a modern request match the values in its body.
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const NAMED = {
  ...{ 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' },
  ...{ 'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId' },
}
const WRAPPED = /^=\?base64\?(.*)\?=$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** @returns the mismatch, or undefined */
export async function headerProblem(headers, { method, params = {} }, tools) {
  const version = params._meta?.[VERSION_KEY]
  if (version !== undefined && headers['mcp-protocol-version'] !== version)
    return 'MCP-Protocol-Version does not match the body'
  if (headers['mcp-method'] !== method) return 'Mcp-Method does not match the body'
  const name = params[NAMED[method]]
  if (name !== undefined && plain(headers['mcp-name']) !== name) return 'Mcp-Name does not match the body'
  if (method !== 'tools/call' || version === undefined) return undefined
  const tool = (await tools()).find((each) => each.name === name)
  return Object.entries(tool?.inputSchema?.properties ?? {})
    .filter(([, { 'x-mcp-header': header }]) => header !== undefined)
    .filter(([key, { 'x-mcp-header': header }]) => {
      const value = params.arguments?.[key]
      return (
        plain(headers[`mcp-param-${header.toLowerCase()}`]) !== (value === undefined ? value : String(value))
      )
    })
    .map(([, { 'x-mcp-header': header }]) => `Mcp-Param-${header} does not match the body`)[0]
}

/** Node's own decoder accepts any input, the specification does not. */
function plain(value) {
  const coded = WRAPPED.exec(value ?? '')?.[1]
  if (coded === undefined) return value
  return BASE64.test(coded) ? Buffer.from(coded, 'base64').toString('utf8') : Symbol('not base64')
}
