import type { Command } from './command.ts'

const NO_BROWSER = { does: 'Only print the address.' }

export const SERVICE: readonly Command[] = [
  {
    name: 'up',
    group: 'Service',
    does: 'Start the service, and keep it running in this terminal.',
    text: 'Every setting is a flag, an environment variable and a key in config.json. `toolroom help settings` lists them.',
    flags: {
      port: { does: 'The port to listen on. 0: any free one.', value: 'N' },
      host: { does: 'The address to listen on. Default: only this computer.', value: 'ADDRESS' },
      'toolroom-home': { does: 'The data folder.', value: 'FOLDER', kind: 'file' },
      'env-file': { does: 'Read this file instead of .env.', value: 'FILE', kind: 'file' },
      restore: { does: 'After damage to the database: restore the newest backup.' },
      'start-empty': { does: 'After damage to the database: start with an empty one.' },
    },
    examples: ['up', 'up --port 9000'],
    exits: {
      65: 'the database is damaged',
      75: 'the data folder is in use',
      78: 'a flag or setting is invalid',
    },
    also: ['serve', 'run'],
  },
  {
    name: 'status',
    group: 'Service',
    does: 'Show whether the service is running, and the status of its servers.',
    examples: ['status', 'status --json'],
    load: () => import('../service/status.ts'),
  },
  {
    name: 'open',
    group: 'Service',
    does: 'Open the dashboard, signed in.',
    text: 'Opens a browser if there is one on this computer. Otherwise, prints an address that signs a browser in. It works once, within a minute.',
    flags: { 'no-browser': NO_BROWSER },
    examples: ['open', 'open --no-browser'],
    also: ['dashboard', 'ui', 'web'],
    load: () => import('../service/open.ts'),
  },
  {
    name: 'login',
    group: 'Care',
    does: 'Log in to an HTTP server, in a browser.',
    text: 'Prints the address of the login page, opens it in a browser if there is one on this computer, and waits until the login is finished. If the browser runs on another computer, paste the address of the page that it cannot open at the end.',
    words: [{ name: 'SERVER', kind: 'http-server' }],
    flags: {
      'no-browser': NO_BROWSER,
      fresh: { does: 'Forget the registration at the issuer first.' },
      scopes: { does: 'Ask for these scopes, separated by commas or spaces.', value: 'LIST' },
    },
    examples: ['login linear', 'login linear --no-browser'],
    load: () => import('../login/login.ts'),
  },
  {
    name: 'logout',
    group: 'Care',
    does: 'Forget the login at an HTTP server, and revoke it.',
    words: [{ name: 'SERVER', kind: 'http-server' }],
    flags: { client: { does: 'Forget the registration at the issuer too.' } },
    writes: true,
    examples: ['logout linear'],
    load: () => import('../login/logout.ts'),
  },
  {
    name: 'connect',
    group: 'Agents',
    does: 'Connect an agent that supports only stdio servers to the gateway.',
    text: "An MCP server on stdin and stdout that forwards every message to a running Toolroom. Agents start it from the entry that `toolroom agents connect` writes. Ends when stdin is closed. TOOLROOM_KEY is the agent's gateway key, TOOLROOM_URL the same as --url.",
    flags: {
      server: { does: 'Offer only this server.', value: 'ID', kind: 'server' },
      url: { does: 'Address of the service. Default: that of the data folder.', value: 'URL' },
    },
    examples: ['connect', 'connect --server github'],
  },
]
