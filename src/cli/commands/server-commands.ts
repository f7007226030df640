import { commandsOf, type Word } from '../run/command.ts'
import { ALLOW_FLAG } from '../servers/allow-flag.ts'
import { ISOLATION_FLAGS } from '../servers/isolation-flags.ts'

const SERVER: Word = { name: 'SERVER', kind: 'server' }
const SEVERAL = {
  words: [{ ...SERVER, optional: true, many: true }],
  flags: {
    all: { does: 'All local servers.' },
    tag: { does: 'All local servers with this tag.', value: 'TAG' },
  },
  writes: true,
  exits: { 9: 'some servers failed' },
}

export const SERVER_COMMANDS = commandsOf('Servers', {
  ls: {
    does: 'List the servers: status, tools, their cost in tokens, latency, memory.',
    flags: {
      all: { does: 'Show tags, processes and restarts, too.' },
      tag: { does: 'Only servers with this tag.', value: 'TAG' },
    },
    examples: ['ls', 'ls --tag work', 'ls --json'],
    also: ['list', 'ps', 'servers'],
    load: async () => (await import('../servers/show-servers.ts')).listServers,
  },
  add: {
    does: 'Add a server: a command, a URL, an npm package or a snippet.',
    text: 'WHAT is a name if a command follows --, else a URL, an npm package, a link, - for a snippet on stdin, or sample for the small server of Toolroom.',
    words: [{ name: 'WHAT' }],
    rest: 'COMMAND',
    flags: {
      name: { does: 'The name of the server.', value: 'NAME' },
      env: { does: 'A variable for the command.', value: 'NAME=VALUE', many: true },
      header: { does: 'A header for the URL.', value: 'NAME=VALUE', many: true },
      cwd: { does: 'The folder in which the command runs.', value: 'FOLDER', kind: 'file' },
      start: { does: 'Start it now, and wait until it is ready.' },
      agents: {
        does: 'The agents that see it: a list with commas, all or none. Default: those that follow all servers.',
        value: 'A,B',
        kind: 'agent',
      },
      allow: ALLOW_FLAG,
      ...ISOLATION_FLAGS,
    },
    asks: true,
    examples: [
      'add memory -- npx -y @modelcontextprotocol/server-memory',
      'add https://mcp.example.com/mcp --name docs',
      'add sample',
    ],
    also: ['new', 'create', 'register'],
    load: async () => (await import('../servers/add-remove.ts')).addServer,
  },
  info: {
    does: 'Show everything about one server. Secrets are masked.',
    words: [SERVER],
    examples: ['info github'],
    also: ['show', 'inspect'],
    load: async () => (await import('../servers/show-servers.ts')).showServer,
  },
  start: {
    does: 'Start servers, and wait until they are ready.',
    ...SEVERAL,
    examples: ['start github', 'start --tag work'],
    load: async () => (await import('../servers/start-stop.ts')).start,
  },
  stop: {
    does: 'Stop servers.',
    ...SEVERAL,
    examples: ['stop github', 'stop --all'],
    load: async () => (await import('../servers/start-stop.ts')).stop,
  },
  restart: {
    does: 'Restart servers, and wait until they are ready.',
    ...SEVERAL,
    examples: ['restart github postgres'],
    load: async () => (await import('../servers/start-stop.ts')).restart,
  },
  edit: {
    does: 'Change a server. What is not given stays as it is. A new command follows --.',
    words: [SERVER],
    rest: 'COMMAND',
    flags: {
      name: { does: 'A new name. The id stays.', value: 'NAME' },
      command: { does: 'Another program, with the same arguments.', value: 'PROGRAM', kind: 'file' },
      package: { does: 'Run this installed package instead.', value: 'PACKAGE', kind: 'package' },
      env: { does: 'Set a variable.', value: 'NAME=VALUE', many: true },
      header: { does: 'Set a header.', value: 'NAME=VALUE', many: true },
      unset: { does: 'Remove a variable or header.', value: 'NAME', many: true },
      address: { does: 'A new URL.', value: 'URL' },
      cwd: { does: 'Run in this folder.', value: 'FOLDER', kind: 'file' },
      tag: { does: 'Add a tag.', value: 'TAG', many: true },
      untag: { does: 'Remove a tag.', value: 'TAG', many: true },
      'start-mode': { does: 'When it starts.', value: 'MODE', oneOf: ['on_demand', 'eager', 'manual'] },
      close: { does: 'Remove a path of --write or --read.', value: 'PATH', kind: 'file', many: true },
      ...ISOLATION_FLAGS,
    },
    writes: true,
    examples: ['edit postgres --env DATABASE_URL=...', 'edit files --isolation sandbox --write ~/notes'],
    also: ['set', 'change', 'update-server'],
    load: async () => (await import('../servers/edit.ts')).editServer,
  },
  allow: {
    does: 'Show what a server gets of variables and secrets, and allow it.',
    text: 'A server that was imported is off until you allow each value, with its place and the host or program that gets it. On a terminal you are asked. Elsewhere, give each one as --dry-run shows it.',
    words: [SERVER, { name: 'VALUE', optional: true, many: true }],
    asks: true,
    examples: ['allow docs', `allow docs '\${env:KEY} in header X-Key to mcp.example.com'`],
    also: ['permit'],
    load: async () => (await import('../servers/allow.ts')).allowServer,
  },
  rm: {
    does: 'Remove a server from Toolroom. Files of agents are not changed.',
    words: [SERVER],
    asks: true,
    examples: ['rm slack', 'rm slack --yes'],
    also: ['remove', 'delete'],
    load: async () => (await import('../servers/add-remove.ts')).removeServer,
  },
  test: {
    does: 'Check whether a server can start, or whether its URL answers.',
    text: 'One server is shown with all checks. Several are started once, a few at a time, and are asleep again afterwards if they were before. Servers that you have stopped are not started.',
    words: SEVERAL.words,
    flags: {
      all: { does: 'All servers.' },
      tag: { does: 'All servers with this tag.', value: 'TAG' },
    },
    examples: ['test github', 'test --all'],
    exits: { 1: 'a check failed', 9: 'some servers failed' },
    also: ['check', 'ping', 'try'],
    load: async () => (await import('../servers/diagnose.ts')).testServer,
  },
  trial: {
    does: 'Start a server once in isolation, and show what it is refused.',
    text: 'It runs beside the running one, in a sandbox if it has no isolation. Its calls really run. What was refused comes from its own errors; what it does not try is not seen. Nothing is changed without --apply, which starts it again with a wider isolation until it runs, and then keeps them.',
    words: [SERVER],
    flags: {
      call: { does: 'A tool to call, with its arguments.', value: 'TOOL=JSON', kind: 'tool', many: true },
      apply: { does: 'Keep the isolation, and allow what was refused.' },
      ...ISOLATION_FLAGS,
    },
    examples: [`trial files --call list_directory='{"path":"/home/me/notes"}'`, 'trial files --apply'],
    exits: { 1: 'it did not start', 7: 'a call failed', 9: 'something was refused' },
    also: ['sandbox', 'isolation', 'isolate'],
    load: async () => (await import('../servers/trial.ts')).tryServer,
  },
  why: {
    does: 'Explain why a server does not work, and what to do.',
    words: [SERVER],
    examples: ['why postgres'],
    exits: { 1: 'the server does not work' },
    also: ['explain', 'diagnose', 'debug'],
    load: async () => (await import('../servers/diagnose.ts')).explainServer,
  },
})

export const ORPHAN_COMMANDS = commandsOf('Care', {
  orphans: {
    does: 'List processes of tool servers whose agent has ended, or end them.',
    words: [{ name: 'PID', optional: true, many: true }],
    flags: { end: { does: 'End them, with all their descendants.' } },
    asks: true,
    examples: ['orphans', 'orphans --end', 'orphans 4711 --end'],
    exits: { 9: 'some processes could not be ended' },
    also: ['leaks'],
    load: async () => (await import('../servers/orphans.ts')).orphans,
  },
})
