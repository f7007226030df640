import { LEVELS } from '../../kernel/log.ts'
import { commandsOf, type Flag, type Word } from '../run/command.ts'

const SERVERS: Word = { name: 'SERVER', kind: 'server', optional: true, many: true }
const FOLLOW: Flag = { does: 'Continue with what is new, until Ctrl-C.', short: 'f' }
const SINCE: Flag = { does: 'Only since then: 10m, 2h, 2026-11-15T09:30Z.', value: 'TIME' }
const LIMIT: Flag = { does: 'How many of the newest to show. Default: 100.', value: 'N', short: 'n' }

export const WATCH_COMMANDS = commandsOf('Watch', {
  logs: {
    does: 'Show the log of servers, or of everything. The newest lines come last.',
    words: [SERVERS],
    flags: {
      follow: FOLLOW,
      level: {
        does: 'Only lines of this level and of more severe ones. Default: info, and with SERVER trace.',
        value: 'LEVEL',
        oneOf: LEVELS,
      },
      search: { does: 'Only lines with this text.', value: 'TEXT' },
      since: SINCE,
      limit: LIMIT,
    },
    examples: ['logs github -f', 'logs --level warn --since 10m'],
    also: ['log', 'tail'],
    load: async () => (await import('../watch/logs-traffic-events.ts')).showLogs,
  },
  traffic: {
    does: 'Show the calls of tools. The newest come last.',
    words: [SERVERS],
    flags: {
      follow: FOLLOW,
      failed: { does: 'Only calls that failed, timed out or were cancelled.' },
      since: SINCE,
      limit: LIMIT,
    },
    examples: ['traffic -f', 'traffic github --failed --since 1h'],
    also: ['calls'],
    load: async () => (await import('../watch/logs-traffic-events.ts')).showTraffic,
  },
  events: {
    does: 'Show what happened: changes, states of servers, notices. The newest come last.',
    words: [SERVERS],
    flags: { follow: FOLLOW, since: SINCE, limit: LIMIT },
    examples: ['events', 'events -f'],
    also: ['history'],
    load: async () => (await import('../watch/logs-traffic-events.ts')).showEvents,
  },
  top: {
    does: 'Watch the servers: calls, latency, failures, CPU and memory, every second.',
    text: 'Up and down choose a server. Keys: enter its details, l its log, r restart it, x stop it, / filter, s sort, ? all keys, q quit. Without a terminal, prints one table.',
    examples: ['top'],
    also: ['htop', 'monitor'],
    load: async () => (await import('../watch/top.ts')).top,
  },
  stats: {
    does: 'Show figures about calls: how many, how many failed, how long they took.',
    words: [{ name: 'SERVER', kind: 'server', optional: true }],
    flags: {
      window: {
        does: 'The time range. Default: 1h.',
        value: 'TIME',
        oneOf: ['5m', '1h', '24h', '7d'],
      },
    },
    examples: ['stats', 'stats github --window 24h'],
    also: ['metrics'],
    load: async () => (await import('../watch/stats.ts')).showStats,
  },
})
