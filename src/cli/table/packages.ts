import type { Command, Word } from './command.ts'

const PACKAGE: Word = { name: 'PACKAGE', kind: 'package' }

export const PACKAGES: readonly Command[] = [
  {
    name: 'search',
    group: 'Packages',
    does: 'Search the npm registry for tool servers.',
    text: 'A registry that offers no search finds exact names only.',
    words: [{ name: 'WORD', many: true }],
    flags: {
      registry: { does: 'Search the MCP Registry instead: mcp.', value: 'NAME', oneOf: ['npm', 'mcp'] },
    },
    examples: ['search postgres', 'search github issues --registry mcp'],
    also: ['find'],
    load: () => import('../packages/search.ts'),
  },
  {
    name: 'install',
    group: 'Packages',
    does: 'Install an npm package. Its install scripts do not run unless you allow it.',
    words: [{ name: 'PACKAGE' }],
    flags: {
      add: { does: 'Add a server that runs from it, and start it.' },
      'enable-in': { does: 'With --add: enable the server in these agents.', value: 'A,B', kind: 'agent' },
      'allow-scripts': { does: 'Run its install scripts.' },
    },
    writes: true,
    examples: ['install @playwright/mcp --add', 'install memory@1.2.0'],
    exits: { 9: 'installed, but not enabled everywhere' },
    load: () => import('../packages/install.ts'),
  },
  {
    name: 'uninstall',
    group: 'Packages',
    does: 'Remove an installed package.',
    words: [PACKAGE],
    flags: { force: { does: 'Even if servers run from it.' } },
    writes: true,
    asks: true,
    examples: ['uninstall @playwright/mcp'],
    exits: { 6: 'servers run from it' },
    load: () => import('../packages/uninstall.ts'),
  },
  {
    name: 'outdated',
    group: 'Packages',
    does: 'Ask the registry which installed packages have a newer version.',
    examples: ['outdated'],
    load: () => import('../packages/outdated.ts'),
  },
  {
    name: 'update',
    group: 'Packages',
    does: 'Update installed packages. A new version is tried before it replaces the old.',
    words: [{ ...PACKAGE, optional: true, many: true }],
    flags: { all: { does: 'All packages that have a newer version.' } },
    writes: true,
    examples: ['update @playwright/mcp', 'update --all --dry-run'],
    exits: { 9: 'some packages failed' },
    also: ['upgrade'],
    load: () => import('../packages/update.ts'),
  },
]
