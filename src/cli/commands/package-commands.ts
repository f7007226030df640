import { commandsOf, type Word } from '../run/command.ts'

const PACKAGE: Word = { name: 'PACKAGE', kind: 'package' }

export const PACKAGE_COMMANDS = commandsOf('Packages', {
  search: {
    does: 'Search the npm registry for tool servers.',
    text: 'A registry that offers no search finds exact names only.',
    words: [{ name: 'WORD', many: true }],
    flags: {
      'mcp-only': { does: 'Only packages that look like an MCP server.' },
      registry: { does: 'Search the MCP Registry instead: mcp.', value: 'NAME', oneOf: ['npm', 'mcp'] },
    },
    examples: ['search postgres', 'search github issues --registry mcp'],
    also: ['find'],
    load: async () => (await import('../packages/search.ts')).searchPackages,
  },
  install: {
    does: 'Install an npm package. Its install scripts do not run unless you allow it.',
    text: 'If a server starts this package with npx, asks on a terminal whether it shall run the installed one.',
    words: [{ name: 'PACKAGE' }],
    flags: {
      add: { does: 'Add a server that runs from it, and start it.' },
      agents: {
        does: 'With --add: the agents that see the server, all or none. Default: those that follow all servers.',
        value: 'A,B',
        kind: 'agent',
      },
      'allow-scripts': { does: 'Run its install scripts.' },
      convert: { does: 'Let servers that start it with npx run the installed one.' },
    },
    asks: true,
    examples: ['install @playwright/mcp --add', 'install memory@1.2.0'],
    exits: { 9: 'installed, but not enabled everywhere' },
    load: async () => (await import('../packages/install.ts')).installPackage,
  },
  uninstall: {
    does: 'Remove an installed package.',
    words: [PACKAGE],
    flags: { force: { does: 'Even if servers run from it.' } },
    asks: true,
    examples: ['uninstall @playwright/mcp'],
    exits: { 6: 'servers run from it' },
    load: async () => (await import('../packages/update-uninstall.ts')).uninstallPackage,
  },
  outdated: {
    does: 'Ask the registry which installed packages have a newer version.',
    examples: ['outdated'],
    load: async () => (await import('../packages/update-uninstall.ts')).listOutdated,
  },
  update: {
    does: 'Update installed packages. A new version is tried before it replaces the old.',
    words: [{ ...PACKAGE, optional: true, many: true }],
    flags: { all: { does: 'All packages that have a newer version.' } },
    writes: true,
    examples: ['update @playwright/mcp', 'update --all --dry-run'],
    exits: { 9: 'some packages failed' },
    also: ['upgrade'],
    load: async () => (await import('../packages/update-uninstall.ts')).updatePackages,
  },
  'images pull': {
    does: 'Download an image for servers that run in a container.',
    text: 'With Docker or Podman. A start never downloads one. Ctrl-C cancels it.',
    words: [{ name: 'IMAGE' }],
    writes: true,
    examples: ['images pull mcp/time', 'images pull node:22-slim'],
    exits: { 130: 'cancelled' },
    also: ['pull'],
    load: async () => (await import('../packages/pull-image.ts')).pullImage,
  },
})
