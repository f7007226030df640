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
