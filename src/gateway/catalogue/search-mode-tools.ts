export const FIND_TOOLS = 'find_tools'
export const CALL_TOOL = 'call_tool'
export const DEFAULT_LIMIT = 10
export const MAX_LIMIT = 50
export const MAX_QUERY = 1000

/** The tools that an agent in search mode sees instead of its own. */
export const SEARCH_MODE_TOOLS = [
  {
    name: FIND_TOOLS,
    title: 'Find tools',
    description:
      'Searches the available tools and returns the best matches, each with its name, its description and the JSON Schema of its arguments. Most tools are not listed: search before you conclude that something cannot be done. Then run a tool with call_tool.',
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          maxLength: MAX_QUERY,
          description: 'What you want to do, in a few words, e.g. "create github issue"',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_LIMIT,
          default: DEFAULT_LIMIT,
          description: 'How many matches to return at most',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  },
  {
    name: CALL_TOOL,
    title: 'Call a tool',
    description:
      'Runs a tool that find_tools has returned, and returns its result. The arguments must match the inputSchema that find_tools returned for it.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'The name of the tool, exactly as find_tools returned it' },
        arguments: {
          type: 'object',
          description: 'The arguments of that tool. Omit them if it takes none',
          additionalProperties: true,
        },
      },
      required: ['name'],
      additionalProperties: false,
    },
  },
]
