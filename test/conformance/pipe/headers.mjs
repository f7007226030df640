// What a modern request says twice, once in a header and once in its body, must be the same both times.
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const NAMED = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }
const WRAPPED = /^=\?base64\?(.*)\?=$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** @returns what does not fit, or undefined */
export async function headerProblem(headers, { method, params = {} }, tools) {
  const version = params._meta?.[VERSION_KEY]
  if (version !== undefined && headers['mcp-protocol-version'] !== version)
    return 'MCP-Protocol-Version is not the version of the body'
  if (headers['mcp-method'] !== method) return 'Mcp-Method is not the method of the body'
  const name = params[NAMED[method]]
  if (name !== undefined && plain(headers['mcp-name']) !== name) return 'Mcp-Name is not the name of the body'
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
    .map(([, { 'x-mcp-header': header }]) => `Mcp-Param-${header} is not the argument of the body`)[0]
}

/** Node's own decoder takes anything, the specification does not. */
function plain(value) {
  const coded = WRAPPED.exec(value ?? '')?.[1]
  if (coded === undefined) return value
  return BASE64.test(coded) ? Buffer.from(coded, 'base64').toString('utf8') : Symbol('not base64')
}
