const BASE64_HEAD = '=?base64?'

/** The text as a header value: unchanged if it is visible ASCII with inner spaces, else Base64 in MCP's notation. */
export function headerText(text: string): string {
  const plain = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/.test(text) && !text.startsWith(BASE64_HEAD)
  return plain ? text : `${BASE64_HEAD}${Buffer.from(text.toWellFormed(), 'utf8').toString('base64')}?=`
}

/** The param that the header `Mcp-Name` repeats, by method. */
const NAME_PARAM: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  // The tasks extension.
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

/** Undefined for a method without such a param. */
export const nameParamOf = (method: string): string | undefined =>
  Object.hasOwn(NAME_PARAM, method) ? NAME_PARAM[method] : undefined
