import { commandsOf, type Word } from '../run/command.ts'
import { ALLOW_FLAG } from '../servers/allow-flag.ts'

const KEY: Word = { name: 'KEY', kind: 'setting' }
const NAME: Word = { name: 'NAME', kind: 'secret' }
const FILE: Word = { name: 'FILE', kind: 'file' }

export const DATA_COMMANDS = commandsOf('Care', {
  'backup ls': {
    does: 'List the backups of the files of agents.',
    examples: ['backup ls'],
    load: async () => (await import('../data/backups.ts')).listBackups,
  },
  'backup restore': {
    does: 'Undo what Toolroom wrote into the files of an agent, or of all.',
    text: 'Our entries leave, and parked ones return. What other programs have written since stays. Shows the changes before it asks.',
    words: [{ name: 'AGENT', kind: 'agent', optional: true }],
    flags: { all: { does: 'The files of all agents.' } },
    asks: true,
    examples: ['backup restore --all --dry-run', 'backup restore cursor'],
    exits: { 9: 'some files could not be restored' },
    load: async () => (await import('../data/backups.ts')).restoreBackup,
  },
  export: {
    does: 'Write servers, agents and presets into one file, to move or keep them.',
    text: 'Without secrets, unless you ask for them: then they are encrypted with a passphrase, which is asked for, or read from stdin.',
    words: [FILE],
    flags: {
      'include-secrets': { does: 'With the secrets, encrypted.' },
      force: { does: 'Overwrite an existing file.' },
    },
    writes: true,
    examples: ['export toolroom.json', 'export -'],
    exits: { 6: 'the file exists' },
    load: async () => (await import('../data/export-import.ts')).exportToFile,
  },
  import: {
    does: 'Add what a file from toolroom export contains.',
    text: 'If the file has secrets, their passphrase is asked for, or read from stdin.',
    words: [FILE],
    flags: {
      update: { does: 'Change what exists already. Otherwise it is skipped.' },
      allow: ALLOW_FLAG,
    },
    writes: true,
    examples: ['import toolroom.json --dry-run', 'import toolroom.json --update'],
    exits: { 9: 'a part was refused' },
    load: async () => (await import('../data/export-import.ts')).importFile,
  },
  'config get': {
    does: 'Show the settings of the service, or one of them. Secrets are masked.',
    words: [{ ...KEY, optional: true }],
    examples: ['config get', 'config get log_level --plain'],
    also: ['settings'],
    load: async () => (await import('../data/config.ts')).getSetting,
  },
  'config set': {
    does: 'Change a setting in config.json.',
    text: 'Lists are separated by commas. Some settings take effect after a restart, and the answer says so.',
    words: [KEY, { name: 'VALUE', optional: true }],
    flags: { default: { does: 'Remove it from config.json, so that the default applies.' } },
    writes: true,
    examples: ['config set log_level debug', 'config set port --default'],
    exits: { 6: 'a flag or an environment variable decides' },
    load: async () => (await import('../data/config.ts')).setSetting,
  },
  'config path': {
    does: 'Show where Toolroom stores its settings and data.',
    examples: ['config path'],
    load: async () => (await import('../data/config.ts')).showPaths,
  },
  'token show': {
    does: 'Print the token.',
    examples: ['token show'],
    load: async () => (await import('../data/token.ts')).showToken,
  },
  'token rotate': {
    does: 'Replace the token. Programs that use the old one lose access.',
    asks: true,
    examples: ['token rotate'],
    exits: { 6: 'AUTH_TOKEN decides' },
    load: async () => (await import('../data/token.ts')).rotateToken,
  },
  'secrets ls': {
    does: 'List the named secrets, and which servers use them. Never their values.',
    examples: ['secrets ls'],
    load: async () => (await import('../data/secrets.ts')).listSecrets,
  },
  'secrets set': {
    does: 'Store a secret under a name, for servers to refer to.',
    text: 'The value is asked for, or read from stdin. It is never an argument, because other programs can read those.',
    words: [NAME],
    writes: true,
    examples: ['secrets set GITHUB_TOKEN', 'secrets set GITHUB_TOKEN < token.txt'],
    load: async () => (await import('../data/secrets.ts')).setSecret,
  },
  'secrets rm': {
    does: 'Delete a named secret.',
    words: [NAME],
    asks: true,
    examples: ['secrets rm GITHUB_TOKEN'],
    load: async () => (await import('../data/secrets.ts')).removeSecret,
  },
})
