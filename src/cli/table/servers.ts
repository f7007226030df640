import type { Command, Flag, Word } from './command.ts'

const SERVER: Word = { name: 'SERVER', kind: 'server' }
const SERVERS: Word = { ...SERVER, optional: true, many: true }
const ALL: Flag = { does: 'All local servers.' }
const TAG: Flag = { does: 'All local servers with this tag.', value: 'TAG' }
const SOME_FAILED = { 9: 'some servers failed' }

export const SERVERS_TABLE: readonly Command[] = [
  {
    name: 'ls',
    group: 'Servers',
    does: 'List the servers: status, tools, their cost in tokens, latency, memory.',
    flags: {
      all: { does: 'Show tags, processes and restarts, too.' },
      tag: { does: 'Only servers with this tag.', value: 'TAG' },
    },
    examples: ['ls', 'ls --tag work', 'ls --json'],
    also: ['list', 'ps', 'servers'],
    load: () => import('../servers/ls.ts'),
  },
  {
    name: 'info',
    group: 'Servers',
    does: 'Show everything about one server. Secrets are masked.',
    words: [SERVER],
    examples: ['info github'],
    also: ['show', 'inspect'],
    load: () => import('../servers/info.ts'),
  },
  {
    name: 'start',
    group: 'Servers',
    does: 'Start servers, and wait until they are ready.',
    words: [SERVERS],
    flags: { all: ALL, tag: TAG },
    writes: true,
    examples: ['start github', 'start --tag work'],
    exits: SOME_FAILED,
    load: () => import('../servers/start.ts'),
  },
  {
    name: 'stop',
    group: 'Servers',
    does: 'Stop servers.',
    words: [SERVERS],
    flags: { all: ALL, tag: TAG },
    writes: true,
    examples: ['stop github', 'stop --all'],
    exits: SOME_FAILED,
    load: () => import('../servers/stop.ts'),
  },
  {
    name: 'restart',
    group: 'Servers',
    does: 'Restart servers, and wait until they are ready.',
    words: [SERVERS],
    flags: { all: ALL, tag: TAG },
    writes: true,
    examples: ['restart github postgres'],
    exits: SOME_FAILED,
    load: () => import('../servers/restart.ts'),
  },
]
