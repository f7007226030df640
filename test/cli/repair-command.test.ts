import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/all-commands.ts'
import { toolroomFindings } from '../../src/cli/doctor/checks.ts'
import type { AnyServer } from '../../src/cli/run/any-server.ts'
import { Given } from '../../src/cli/run/command-context.ts'
import { Failure } from '../../src/cli/run/failure.ts'
import { type Line, textOf } from '../../src/cli/run/printed-line.ts'
import { readGiven } from '../../src/cli/run/read-arguments.ts'
import { repairCommand } from '../../src/cli/run/repair-command.ts'
import { explainServer } from '../../src/cli/servers/diagnose.ts'
import { listServers } from '../../src/cli/servers/show-servers.ts'
import { start } from '../../src/cli/servers/start-stop.ts'
import { statusLines } from '../../src/cli/service/status.ts'
import { REPAIR_ACTIONS, type RepairAction } from '../../src/kernel/repair-action.ts'

/** One of each kind, as a server or a notice has it. */
const ACTIONS: Readonly<Record<RepairAction['kind'], readonly [action: RepairAction, command: string]>> = {
  set_secret: [{ kind: 'set_secret', name: 'TOKEN' }, 'toolroom secrets set TOKEN'],
  set_environment: [{ kind: 'set_environment', name: 'KEY' }, 'toolroom down, then KEY=... toolroom up'],
  set_variable: [{ kind: 'set_variable', name: 'API_KEY' }, 'toolroom edit db --env API_KEY=...'],
  edit_variables: [{ kind: 'edit_variables', name: 'URL' }, 'toolroom edit db --env URL=...'],
  edit_command: [{ kind: 'edit_command' }, 'toolroom edit db -- COMMAND ...'],
  edit_arguments: [{ kind: 'edit_arguments' }, 'toolroom edit db -- COMMAND ...'],
  edit_folder: [{ kind: 'edit_folder' }, 'toolroom edit db --cwd ...'],
  edit_url: [{ kind: 'edit_url' }, 'toolroom edit db --address ...'],
  edit_headers: [{ kind: 'edit_headers' }, 'toolroom edit db --header NAME=...'],
  install_runtime: [
    { kind: 'install_runtime', program: 'uvx', url: 'https://docs.astral.sh/uv' },
    'toolroom edit db --command .../uvx',
  ],
  install_package: [{ kind: 'install_package', package: '@a/b' }, 'toolroom install @a/b'],
  reinstall_package: [{ kind: 'reinstall_package', package: '@a/b' }, 'toolroom install @a/b'],
  allow_scripts: [{ kind: 'allow_scripts', package: 'b' }, 'toolroom install b --allow-scripts'],
  allow_outgoing: [{ kind: 'allow_outgoing' }, 'toolroom allow db'],
  login: [{ kind: 'login' }, 'toolroom login db'],
  start_docker: [{ kind: 'start_docker' }, 'toolroom restart db'],
  pull_image: [{ kind: 'pull_image', image: 'node:22' }, 'toolroom images pull node:22'],
  change_isolation: [{ kind: 'change_isolation' }, 'toolroom edit db --isolation ...'],
  grant_path: [
    { kind: 'grant_path', path: '/home/me/my notes', access: 'write' },
    "toolroom edit db --write '/home/me/my notes'",
  ],
  start: [{ kind: 'start' }, 'toolroom restart db'],
  check: [{ kind: 'check' }, 'toolroom test db'],
  see_log: [{ kind: 'see_log' }, 'toolroom logs db'],
  approve_tools: [{ kind: 'approve_tools' }, 'toolroom review db'],
  see_difference: [{ kind: 'see_difference', agent_type: 'cursor' }, 'toolroom agents diff cursor'],
  see_file: [{ kind: 'see_file', agent_type: 'zed' }, 'toolroom agents show zed'],
  update_package: [{ kind: 'update_package', package: 'b' }, 'toolroom update b'],
  see_package: [{ kind: 'see_package', package: 'b' }, 'toolroom outdated'],
  end_processes: [{ kind: 'end_processes' }, 'toolroom orphans'],
  free_disk: [{ kind: 'free_disk' }, 'toolroom doctor'],
  rotate_token: [{ kind: 'rotate_token' }, 'toolroom token rotate'],
  see_settings: [{ kind: 'see_settings' }, 'toolroom config get'],
}
const TABLE = Object.values(ACTIONS).map(([action, command]) => [action.kind, action, command] as const)

test('every action that the service can suggest has a command line', () => {
  const kinds = REPAIR_ACTIONS.map(({ properties }) => properties.kind.const)
  expect(Object.keys(ACTIONS).sort()).toEqual([...kinds].sort())
})

test.each(TABLE)('%s is a command that exists, with flags that it has', (_, action, command) => {
  expect(repairCommand(action, 'db')).toBe(command)
  const words = command
    .replace(/^.*, then \S+ /, '')
    .replaceAll("'", '')
    .split(' ')
    .slice(1)
  const found = COMMANDS.filter(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
  const [longest] = found.sort((a, b) => b.name.length - a.name.length)
  if (!longest) throw new Error(`no command ${words.join(' ')}`)
  const given = words.slice(longest.name.split(' ').length).filter((word) => !['my', 'notes'].includes(word))
  const valid = given.map((word, at) => (given[at - 1] === '--isolation' ? 'sandbox' : word))
  expect(() => readGiven(longest, valid, [])).not.toThrow()
})

describe('the same failure suggests the same command everywhere', () => {
  const about = (action: RepairAction): AnyServer =>
    ({
      id: 'db',
      type: 'stdio',
      name: 'Database',
      status: 'failed',
      isolation: 'none',
      health: { level: 'unhealthy', summary: 'It failed', action: 'Do something about it' },
      last_error: { code: 'exited', message: 'It failed', hint: 'Do something about it', action },
      last_exit: null,
      recent_exits: [],
      uptime_s: null,
      tool_count: null,
      stats: { calls: 0, errors: 0 },
      tags: [],
      used_by_agents: [],
    }) as unknown as AnyServer

  const DIAGNOSIS = { checks: [], command_line: 'db', repair: null }
  const contextOf = (server: AnyServer, word: string) => {
    const failed = { id: 'db', ok: false, status: 'failed', error: server.last_error }
    const api = {
      get: async (path: string) => {
        if (path === '/api/servers') return { items: [server] }
        return path === '/api/health' ? { version: '1', checks: [] } : { items: [] }
      },
      post: async (path: string) =>
        path.endsWith('bulk') ? { action: 'start', items: [failed], total: 1, failed: 1 } : DIAGNOSIS,
    }
    const words = word === '' ? [] : [{ name: word, many: true }]
    const given = new Given(
      { flags: new Map([['url', ['x']]]), words: ['db'], rest: undefined } as never,
      words,
    )
    const during = (_: string, work: Promise<unknown>) => work
    return {
      api,
      given,
      during,
      terminal: { width: undefined, typed: (text: string) => text },
      service: { address: 'x' },
    } as never
  }
  const written = (lines: readonly Line[] = []) =>
    lines.map((line) => (typeof line === 'string' ? line : line.map(textOf).join(''))).join('\n')

  const PLACES: Readonly<Record<string, (server: AnyServer) => Promise<string>>> = {
    why: async (server) => written((await explainServer(contextOf(server, 'SERVER')))?.lines),
    ls: async (server) => (await listServers(contextOf(server, '')))?.next ?? '',
    doctor: async (server) => {
      const context = contextOf(server, '') as Parameters<typeof toolroomFindings>[0]
      return JSON.stringify(await toolroomFindings(context, context.api), null, 1).replaceAll('\\"', '"')
    },
    status: async (server) =>
      written(
        statusLines(
          { address: 'x', version: '1', uptime_s: 1, checks: [], warnings: [], servers: [server as never] },
          undefined,
        ),
      ),
    'a failed start': (server) =>
      start(contextOf(server, 'SERVER')).then(
        () => 'no failure',
        (error: unknown) => (error instanceof Failure ? `${error.hint}` : String(error)),
      ),
  }

  test.each(TABLE)('%s', async (_, action, command) => {
    for (const [place, shown] of Object.entries(PLACES))
      expect(await shown(about(action)), place).toContain(command)
  })

  test('a list does not suggest to change a variable whose name is not known', async () => {
    const server = about({ kind: 'edit_variables', name: null })
    expect(await PLACES.ls?.(server)).toBe('1 server needs you:  toolroom why db')
    expect(await PLACES.doctor?.(server)).not.toContain('NAME=')
    expect(await PLACES.why?.(server)).toContain('toolroom edit db --env NAME=...')
  })

  test('an error without an action suggests the log', async () => {
    const server = { ...about({ kind: 'start' }), last_error: null } as AnyServer
    expect(await PLACES.ls?.(server)).toBe('1 server needs you:  toolroom why db, or toolroom logs db')
  })
})

test('hints for people name no request of the API', () => {
  const root = join(import.meta.dirname, '../../src')
  const folders = [
    'supervisor',
    'mcp',
    'net',
    'import',
    'cli',
    'observe/notices',
    'servers/shared/definition',
  ]
  const files = ['servers/http', 'servers/stdio', 'servers/packages'].flatMap((folder) =>
    sources(join(root, folder)).filter((file) => !/\.(?:routes|schema)\.ts$/.test(file)),
  )
  for (const file of [...folders.flatMap((folder) => sources(join(root, folder))), ...files]) {
    const found = readFileSync(file, 'utf8')
      .split('\n')
      .filter(
        (line) =>
          !/^\s*(?:\/?\*|\/\/)/.test(line) && /['"`].*\b(?:GET|PUT|POST|PATCH|DELETE) \/api/.test(line),
      )
    expect(found, file).toEqual([])
  }
})

const sources = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('.routes.ts'))
    .map(({ name, parentPath }) => join(parentPath, name))
