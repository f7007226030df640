import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { MAIN } from '../support/bridge.ts'
import { runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { npmEnv } from '../support/packages.ts'
import { openRegistry, toolPackage } from '../support/registry/registry.ts'
import { hasTmux, openTerminal, type Terminal } from '../support/terminal.ts'

/** `npm run recordings` sets the folder, where all are written. Otherwise one is made, and compared with the one in docs. */
const folder = process.env.TOOLROOM_RECORDINGS
const docs = fileURLToPath(new URL('../../docs/recordings/', import.meta.url))
const fixtures = fileURLToPath(new URL('../fixtures/servers/', import.meta.url))
const PROMPT = '$ '

/** A home with two agents, and programs that its servers start. */
function seededHome(): { home: string; path: string } {
  const home = ownFolder()
  const bin = join(home, 'bin')
  const program = (name: string, script: string) =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  for (const each of ['bin', '.cursor', '.config/zed']) mkdirSync(join(home, each), { recursive: true })
  program('toolroom', `exec '${process.execPath}' '${MAIN}' "$@"`)
  program('notes-mcp', `exec '${process.execPath}' '${fixtures}dozen.mjs'`)
  program('postgres-mcp', 'echo "Error: connect ECONNREFUSED 127.0.0.1:5432" >&2; exit 1')
  const notes = { command: 'notes-mcp', args: ['--folder', 'notes'] }
  const servers = { notes, postgres: { command: 'postgres-mcp' } }
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ mcpServers: servers }, null, 2))
  writeFileSync(join(home, '.cursor', 'mcp.json'), JSON.stringify({ mcpServers: { notes } }, null, 2))
  writeFileSync(
    join(home, '.config', 'zed', 'settings.json'),
    '{\n  "theme": "One"\n  "context_servers": {}\n}\n',
  )
  return { home, path: `${bin}:${process.env.PATH}` }
}

/** Types a command at the prompt, waits, and returns the screen. */
async function recorded(terminal: Terminal, command: string, shows: RegExp): Promise<string> {
  terminal.press('clear', 'Enter')
  await expect.poll(() => terminal.screen().trim()).toBe(PROMPT.trim())
  terminal.press(command, 'Enter')
  await terminal.shows(shows)
  return terminal.screen()
}

/** What no reader has: the home folder, the port unless it is the usual one, and the one-time code. */
const normalised = (screen: string, home: string): string =>
  screen
    .replaceAll(home, '/home/me')
    .replace(/127\.0\.0\.1:(?!5432)\d+/g, '127.0.0.1:8665')
    .replace(/#c=[\w-]+/g, '#c=7f3a…')
    .replace(/[ \t]+$/gm, '')
    .replace(/\n+\$?\n*$/, '')

/** How long something has run, how much it uses and how often it was tried differ each time; the columns stay. */
const withoutTimes = (page: string): string =>
  page.replace(/\b\d+(?:\.\d+)?(?: ?(?:s|ms|MB|%))(?!\w) */g, '# ').replace(/ \(\d+ times\)/g, '')

interface Recording {
  readonly name: string
  readonly title: string
  readonly text: string
  readonly make: () => Promise<{ screen: string; home: string }>
}

const RECORDINGS: readonly Recording[] = [
  {
    name: 'first-run',
    title: 'The first run',
    text: '`toolroom` alone starts the service, reads the files of your agents, and changes nothing. Here the computer has no display, so the address of the dashboard is printed instead of opened.',
    make: async () => {
      const { home, path } = seededHome()
      const terminal = openTerminal({ HOME: home, PATH: path, PORT: '0', PS1: PROMPT })
      const screen = await recorded(terminal, 'toolroom', /toolroom init/)
      terminal.press('C-c')
      await expect.poll(() => terminal.screen().trimEnd()).toMatch(/\$$/)
      return { screen, home }
    },
  },
  {
    name: 'why',
    title: 'Why a server is red',
    text: '`toolroom ls` shows that a server does not work. `toolroom why` says why, with the line that the server wrote last, what was checked, and what to do.',
    make: async () => {
      const { terminal, home } = await openSeeded()
      terminal.press('toolroom start postgres', 'Enter')
      await terminal.shows(/toolroom: /)
      const list = await recorded(terminal, 'toolroom ls', /AGENTS[\s\S]*postgres/)
      const why = await recorded(terminal, 'toolroom why postgres', /Then: .*\n/)
      return { screen: `${list.trimEnd().replace(/\n\$$/, '')}\n\n${why}`, home }
    },
  },
  {
    name: 'install',
    title: 'Install a server, and use it in an agent',
    text: '`toolroom install` installs an npm package without running its install scripts, adds a server that runs from it, starts it, and enables it in an agent.',
    make: async () => {
      const { terminal, home } = await openSeeded()
      const screen = await recorded(
        terminal,
        'toolroom install @acme/weather-mcp --add --agents cursor --yes',
        /next: toolroom tools/,
      )
      return { screen, home }
    },
  },
  {
    name: 'top',
    title: 'Watch the servers',
    text: '`toolroom top` is a screen that is drawn every second. `?` lists the keys.',
    make: async () => {
      const { terminal, home, cli } = await openSeeded()
      for (let n = 0; n < 5; n += 1) await cli('call', 'notes', 'echo', 'text=hello')
      const screen = await recorded(terminal, 'toolroom top', /> notes/)
      terminal.press('q')
      return { screen: `$ toolroom top\n${screen}`, home }
    },
  },
]

/** A running service with the servers of the seeded home. */
async function openSeeded() {
  const { home, path } = seededHome()
  const weather = toolPackage('@acme/weather-mcp', '1.4.0', {
    tools: ['forecast', 'alerts'],
    postinstall: true,
  })
  const registry = await openRegistry([weather])
  onTestFinished(() => registry.close())
  const env = { HOME: home, PATH: path, PORT: '0', ...npmEnv(home, registry.url) }
  const cli = async (...argv: string[]) => expect((await runCli(env, argv)).code, argv.join(' ')).toBe(0)
  onTestFinished(() => cli('down'))
  await cli('init', '--import', 'all', '--yes')
  await cli('start', 'notes')
  return { terminal: openTerminal({ ...env, PS1: PROMPT }), home, cli }
}

const chosen = RECORDINGS.filter(({ name }) => folder !== undefined || name === 'why')

test.runIf(hasTmux).each(chosen)(
  'the recording $name is made in a real terminal of 80×24, without paths of this computer',
  async ({ name, title, text, make }) => {
    const { screen, home } = await make()
    const shown = normalised(screen, home)
    expect(Math.max(...shown.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(shown).not.toMatch(/\/tmp\/|\/root\b|node_modules/)
    const page = `# ${title}\n\n${text}\n\n\`\`\`\n${shown}\n\`\`\`\n\n${MADE}\n`
    if (folder !== undefined) writeFileSync(join(folder, `${name}.md`), page)
    expect(page).toMatch(/^\$ toolroom/m)
    const kept = readFileSync(join(docs, `${name}.md`), 'utf8')
    expect(withoutTimes(page), 'docs/recordings is outdated: npm run recordings').toBe(withoutTimes(kept))
  },
)

const MADE =
  '`npm run recordings` made this page from a real terminal of 80×24. Only the home folder, the port and the one-time code were replaced.'
