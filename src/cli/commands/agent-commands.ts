import { commandsOf, type Word } from '../run/command.ts'

const AGENT: Word = { name: 'AGENT', kind: 'agent' }
const PRESET: Word = { name: 'PRESET', kind: 'preset' }
const SERVER: Word = { name: 'SERVER', kind: 'server' }
const IN_AGENTS = {
  text: 'Through the gateway this applies at once. Otherwise the file of the agent is changed, after a diff and a question; the old one is kept as a backup. An entry of your own that is disabled comes back as it was.',
  words: [SERVER],
  flags: { in: { does: 'Agents, separated by commas, or all.', value: 'AGENTS', kind: 'agent' } },
  asks: true,
  exits: { 9: 'some agents failed' },
} as const

export const AGENT_COMMANDS = [
  ...commandsOf('Agents', {
    agents: {
      does: 'List the agents on this computer, their files and what they see.',
      flags: { all: { does: 'Also agents that were not found.' } },
      examples: ['agents', 'agents show cursor'],
      also: ['clients'],
      load: async () => (await import('../agents/show-agents.ts')).listAgents,
    },
    'agents show': {
      does: 'Show the files of an agent and the servers in them.',
      words: [AGENT],
      examples: ['agents show cursor'],
      load: async () => (await import('../agents/show-agents.ts')).showAgent,
    },
    'agents diff': {
      does: 'Show how the entries of an agent differ from those of Toolroom.',
      text: 'First what another program has changed of what Toolroom wrote: --keep toolroom writes it again, --keep file leaves the file as it is. Otherwise how entries differ from their servers.',
      words: [AGENT],
      flags: {
        keep: {
          does: 'What to keep: what Toolroom wrote, or what the file says now.',
          value: 'VERSION',
          oneOf: ['toolroom', 'file'],
        },
      },
      asks: true,
      examples: ['agents diff cursor', 'agents diff cursor --keep toolroom --dry-run'],
      load: async () => (await import('../agents/show-agents.ts')).diffAgent,
    },
    'agents connect': {
      does: 'Give an agent one entry for its servers: the gateway.',
      text: 'It sees exactly the servers that it had. Their entries are kept by Toolroom, and come back with disconnect. Shows the diff and what the agent can use before and after, and asks.',
      words: [AGENT],
      flags: {
        keep: { does: 'Leave its own entries in the file.' },
        all: { does: 'Follow all servers, also those that are added later.' },
        'keep-names': { does: 'One entry for each server, under its old name: tools keep their names.' },
        bridge: { does: 'Use toolroom connect instead of the URL.' },
        create: { does: 'Also if the agent was not found.' },
      },
      asks: true,
      examples: ['agents connect cursor', 'agents connect cursor --dry-run'],
      load: async () => (await import('../agents/connect-disconnect.ts')).connectAgent,
    },
    'agents disconnect': {
      does: 'Remove the gateway from an agent, and give it its own entries back.',
      text: 'Works without a running service, too.',
      words: [{ ...AGENT, optional: true }],
      flags: { all: { does: 'All agents that are connected.' } },
      asks: true,
      examples: ['agents disconnect cursor', 'agents disconnect --all'],
      load: async () => (await import('../agents/connect-disconnect.ts')).disconnectAgent,
    },
    'agents restore': {
      does: 'Remove everything that Toolroom wrote from the files of an agent.',
      words: [AGENT],
      asks: true,
      examples: ['agents restore cursor --dry-run'],
      load: async () => (await import('../agents/connect-disconnect.ts')).restoreAgent,
    },
    'agents apply': {
      does: 'Let an agent see the servers and tools of a preset.',
      text: 'Shows what it sees before and after, and asks if it gains servers or tools.',
      words: [AGENT, PRESET],
      asks: true,
      examples: ['agents apply cursor work'],
      load: async () => (await import('../agents/presets.ts')).applyPreset,
    },
    enable: {
      does: 'Offer a server to agents.',
      ...IN_AGENTS,
      examples: ['enable github --in cursor,claude-code'],
      load: async () => (await import('../agents/enable-disable.ts')).enable,
    },
    disable: {
      does: 'Stop offering a server to agents.',
      ...IN_AGENTS,
      examples: ['disable slack --in cursor --dry-run'],
      load: async () => (await import('../agents/enable-disable.ts')).disable,
    },
  }),
  ...commandsOf('Care', {
    'presets ls': {
      does: 'List the presets.',
      examples: ['presets ls'],
      load: async () => (await import('../agents/presets.ts')).listPresets,
    },
    'presets save': {
      does: 'Save a choice of servers and tools under a name.',
      words: [PRESET],
      flags: {
        from: { does: 'What this agent sees through the gateway.', value: 'AGENT', kind: 'agent' },
        servers: { does: 'These servers, separated by commas.', value: 'LIST', kind: 'server' },
      },
      writes: true,
      examples: ['presets save work --from cursor', 'presets save work --servers github,linear'],
      load: async () => (await import('../agents/presets.ts')).savePreset,
    },
    'presets apply': {
      does: 'Let an agent see the servers and tools of a preset.',
      text: 'Shows what it sees before and after, and asks if it gains servers or tools.',
      words: [PRESET, AGENT],
      asks: true,
      examples: ['presets apply work cursor'],
      load: async () => (await import('../agents/presets.ts')).applyPreset,
    },
    'presets rm': {
      does: 'Delete a preset. Agents keep what they see.',
      words: [PRESET],
      asks: true,
      examples: ['presets rm work --yes'],
      load: async () => (await import('../agents/presets.ts')).removePreset,
    },
  }),
]
