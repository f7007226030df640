import { type Command, commandsOf } from '../run/command.ts'
import { ALLOW_FLAG } from '../servers/allow-flag.ts'

const NO_BROWSER = { does: 'Only print the address.' }

/** `toolroom` without a command, on a terminal. */
export const WELCOME: Command = {
  name: 'welcome',
  group: 'Service',
  does: 'Show what was found, and open the dashboard.',
  examples: [''],
  load: async () => (await import('../first-run/welcome.ts')).welcome,
}

export const SERVICE_COMMANDS = [
  ...commandsOf('Service', {
    init: {
      does: 'Find agents, import their servers, and connect agents to the gateway.',
      text: 'On a terminal, asks what to import and connect, shows the changes to the files, then starts the service and writes. Until then nothing is changed.',
      flags: {
        import: {
          does: 'Servers to import: a list with commas, all or none. Default: all but those that are off or not approved.',
          value: 'NAMES',
        },
        'move-secrets': {
          does: 'Copy secrets in plain text to the secret store.',
        },
        connect: {
          does: 'Agents to connect: a list with commas, all or none.',
          value: 'AGENTS',
          kind: 'agent',
        },
        'keep-names': {
          does: 'Connected agents keep an entry for each server, under its old name: tools keep their names.',
        },
        'at-login': { does: 'Start Toolroom at every login.' },
        allow: ALLOW_FLAG,
      },
      asks: true,
      exits: { 9: 'it does not start at login, and the rest was done' },
      examples: ['init --dry-run', 'init --import all --connect cursor,claude-code --yes'],
      also: ['setup'],
      load: async () => (await import('../first-run/init.ts')).init,
    },
    up: {
      does: 'Start the service, in this terminal or in the background.',
      text: 'All settings are variables and keys of config.json: toolroom help settings',
      flags: {
        detach: { does: 'Run in the background.', short: 'd' },
        port: { does: 'The port to listen on. 0: any free one.', value: 'N' },
        host: { does: 'The address to listen on. Default: 127.0.0.1.', value: 'ADDRESS' },
        'toolroom-home': { does: 'The data folder.', value: 'FOLDER', kind: 'file' },
        'env-file': { does: 'Read this file instead of .env.', value: 'FILE', kind: 'file' },
        restore: { does: 'After damage to the database: use the newest backup.' },
        'start-empty': { does: 'After damage to the database: start without it.' },
        'no-servers': { does: 'Start no server by itself.' },
        'restart-after-crash': { does: 'Start it again after a crash, from a second process.' },
      },
      examples: ['up', 'up --detach --port 9000'],
      exits: {
        65: 'the database is damaged',
        75: 'the data folder is in use',
        78: 'a flag or setting is invalid',
      },
      also: ['serve', 'run'],
    },
    down: {
      does: 'Stop the service and all its servers, and wait until they have ended.',
      text: 'An agent whose entry starts toolroom connect starts the service again with its next call. To prevent that, set agents_start_service to false, or disconnect the agent.',
      writes: true,
      examples: ['down'],
      also: ['shutdown', 'quit', 'exit'],
      load: async () => (await import('../service/stop-service.ts')).down,
    },
    status: {
      does: 'Show whether the service is running, and the status of its servers.',
      examples: ['status', 'status --json'],
      load: async () => (await import('../service/status.ts')).showStatus,
    },
    open: {
      does: 'Open the dashboard, signed in.',
      text: 'Opens a browser if there is one on this computer. Otherwise, prints an address that signs a browser in. It works once, within 10 minutes.',
      flags: { 'no-browser': NO_BROWSER },
      examples: ['open', 'open --no-browser'],
      also: ['dashboard', 'ui', 'web'],
      load: async () => (await import('../service/open.ts')).openDashboard,
    },
    'service install': {
      does: 'Start the service now and at every login.',
      text: 'Writes a file for the service manager of your user account, which needs no root. On Linux that is systemd, on macOS launchd, on Windows the Task Scheduler. A Toolroom that is running is stopped first. Settings come from config.json: see `toolroom help settings`.',
      writes: true,
      examples: ['service install', 'service install --dry-run'],
      load: async () => (await import('../autostart/autostart.ts')).installService,
    },
    'service uninstall': {
      does: 'Stop the service, and no longer start it at login.',
      text: 'Deletes the file that `toolroom service install` wrote. Your servers and settings stay.',
      writes: true,
      examples: ['service uninstall'],
      load: async () => (await import('../autostart/autostart.ts')).uninstallService,
    },
    'service status': {
      does: 'Show whether the service is installed, enabled and running.',
      examples: ['service status', 'service status --json'],
      exits: { 3: 'not installed, or not running' },
      load: async () => (await import('../autostart/autostart.ts')).showServiceState,
    },
  }),
  ...commandsOf('Care', {
    login: {
      does: 'Log in to an HTTP server, in a browser.',
      text: 'Prints the address of the login page, opens it in a browser if there is one on this computer, and waits until the login is finished. If the browser runs on another computer, paste the address of the page that it cannot open at the end.',
      words: [{ name: 'SERVER', kind: 'http-server' }],
      flags: {
        'no-browser': NO_BROWSER,
        fresh: { does: 'Forget the registration at the issuer first.' },
        scopes: { does: 'Ask for these scopes, separated by commas or spaces.', value: 'LIST' },
      },
      examples: ['login linear', 'login linear --no-browser'],
      load: async () => (await import('../servers/login.ts')).login,
    },
    'login confirm': {
      does: 'Confirm the account of a login that an agent led to.',
      text: 'A login that was finished at the page of a link from an agent could be one of any account. Toolroom does not use it before it is confirmed; a call that waits for it then goes on.',
      words: [{ name: 'SERVER', kind: 'http-server' }],
      flags: { reject: { does: 'The account is not mine: revoke its tokens.' } },
      examples: ['login confirm linear', 'login confirm linear --reject'],
      load: async () => (await import('../servers/login.ts')).confirmLogin,
    },
    logout: {
      does: 'Forget the login at an HTTP server, and revoke it.',
      words: [{ name: 'SERVER', kind: 'http-server' }],
      flags: { client: { does: 'Forget the registration at the issuer too.' } },
      writes: true,
      examples: ['logout linear'],
      load: async () => (await import('../servers/login.ts')).logout,
    },
  }),
  ...commandsOf('Agents', {
    connect: {
      does: 'Connect an agent that supports only stdio servers to the gateway.',
      text: "An MCP server on stdin and stdout that forwards every message to Toolroom. Agents start it from the entry that `toolroom agents connect` writes. If Toolroom is not running, it is started as it was when the agent was connected, unless agents_start_service is false or an address is given. Ends when stdin is closed. TOOLROOM_KEY is the agent's gateway key, TOOLROOM_URL the same as --url.",
      flags: {
        server: { does: 'Offer only this server.', value: 'ID', kind: 'server' },
        url: { does: 'Address of the service. Default: that of the data folder.', value: 'URL' },
      },
      examples: ['connect', 'connect --server github'],
    },
  }),
]

export const DOCTOR_COMMANDS = commandsOf('Care', {
  doctor: {
    does: 'Check the service, runtimes, isolation, agents and processes.',
    text: 'Starts no server, and contacts no other computer without --online. Without a service, checks what it can. A repair is safe, and is printed with how to undo it: a command that only your shell finds gets its full path, files of Toolroom are closed to other users, and what a killed command has left is deleted.',
    flags: {
      fix: { does: 'Repair what can be repaired.' },
      online: { does: 'Also ask the npm registry whether it answers.' },
    },
    writes: true,
    examples: ['doctor', 'doctor --fix --dry-run'],
    exits: { 1: 'there are problems' },
    also: ['check', 'health', 'verify'],
    load: async () => (await import('../doctor/doctor.ts')).doctor,
  },
})

/** What the program knows about itself. */
export const PROGRAM_COMMANDS = commandsOf('Care', {
  completion: {
    does: 'Print the script that completes commands and names in a shell.',
    text: 'Names of servers, tools, agents and packages come from a cache, also while the service is down. Add the line of the example to the start file of your shell.',
    words: [{ name: 'SHELL', oneOf: ['bash', 'zsh', 'fish', 'powershell'] }],
    examples: ['completion bash >> ~/.bashrc', 'completion fish | source'],
    load: async () => (await import('../service/completion-script.ts')).printCompletionScript,
  },
  docs: {
    does: 'Open the documentation, which the service contains.',
    flags: { 'no-browser': { does: 'Do not open a browser.' } },
    examples: ['docs', 'docs --no-browser'],
    also: ['guide', 'manual'],
    load: async () => (await import('../service/open.ts')).openDocs,
  },
  version: {
    does: 'Show the version of this program, of Node.js and of the running service.',
    examples: ['version'],
    load: async () => (await import('../service/version.ts')).showVersion,
  },
})
