const text = { type: 'string', description: 'What is said back' }
const bytes = { type: 'integer', description: 'How long the text is to be' }

const ECHO = {
  name: 'echo',
  description: 'Says back what it is told',
  inputSchema: { type: 'object', properties: { text } },
}
const BIG = {
  name: 'big',
  description: 'Says a text of so many bytes',
  inputSchema: { type: 'object', properties: { bytes } },
}

/** `echo`, `big` and so many more, each of some 600 bytes. Servers of the bench and its bare programs offer the same. */
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
