import { commandsOf, type Word } from '../run/command.ts'

const SERVER: Word = { name: 'SERVER', kind: 'server' }
const TOOL: Word = { name: 'TOOL', kind: 'tool' }

export const TOOL_COMMANDS = commandsOf('Tools', {
  tools: {
    does: 'List tools, and what each costs in the context of an agent.',
    words: [{ ...SERVER, optional: true }],
    flags: { tokens: { does: 'The most expensive first.' } },
    examples: ['tools github', 'tools --tokens'],
    load: async () => (await import('../tools/tools.ts')).listTools,
  },
  tool: {
    does: 'Switch tools of a server on or off, for all agents.',
    words: [{ name: 'STATE', oneOf: ['on', 'off'] }, SERVER, { ...TOOL, many: true }],
    writes: true,
    examples: ['tool off github delete_repository'],
    load: async () => (await import('../tools/tools.ts')).switchTools,
  },
  review: {
    does: 'Show new and changed tools, prompts and instructions, and approve them.',
    words: [SERVER, { ...TOOL, optional: true, many: true }],
    flags: { approve: { does: 'Approve them.' } },
    writes: true,
    examples: ['review linear', 'review linear --approve'],
    load: async () => (await import('../tools/review.ts')).reviewChanges,
  },
  call: {
    does: 'Call a tool, and print its result.',
    text: 'A value is text where the tool takes text, and JSON elsewhere. `-` reads the arguments as JSON from stdin. Progress and log messages of the tool go to stderr; its questions are asked on the terminal. Ctrl-C cancels the call.',
    words: [SERVER, TOOL, { name: 'KEY=VALUE', optional: true, many: true }],
    flags: {
      args: { does: 'All arguments as a JSON object.', value: 'JSON' },
      timeout: { does: 'Give up after so many seconds.', value: 'S' },
    },
    writes: true,
    examples: ["call postgres query sql='select 1'", `call time now --args '{"zone":"UTC"}'`],
    exits: { 7: 'the tool answered with an error', 8: 'timeout', 130: 'cancelled' },
    also: ['exec', 'invoke'],
    load: async () => (await import('../tools/call.ts')).callTool,
  },
})
