const text = { type: 'string', description: 'The text to return' }
const bytes = { type: 'integer', description: 'The length of the text' }

const ECHO = {
  name: 'echo',
  description: 'Returns its text',
  inputSchema: { type: 'object', properties: { text } },
}
const BIG = {
  name: 'big',
  description: 'Returns a text of the given length',
  inputSchema: { type: 'object', properties: { bytes } },
}

/** `echo`, `big` and `more` further tools of about 600 bytes each, for the servers and the baselines alike. */
export function toolsOf(more) {
  return [ECHO, BIG, ...Array.from({ length: more }, (_, n) => tool(n))]
}

function tool(n) {
  return {
    name: `tool_${n}`,
    title: `Tool ${n}`,
    description: `Number ${n} of a long list. ${'It does what its name says, and it takes some words to say so. '.repeat(3)}`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'What to look for', maxLength: 1000 },
        limit: { type: 'integer', description: 'How many at most', minimum: 1, maximum: 100 },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  }
}
