import { describe, expect, test } from 'vitest'
import { computer } from '../../../test/support/test-computer.ts'
import { AGENTS, configFilesOf, findAgent, isScope } from './agent-catalogue.ts'
import type { Agent, System } from './agent-record.ts'

/** The user file relative to the home and the project file relative to the project; null if there is none. */
type Files = readonly [
  linux: string | null,
  darwin: string | null,
  win32: string | null,
  project: string | null,
]

const support = (path: string) => `Library/Application Support/${path}`
const everywhere = (path: string, project: string | null): Files => [path, path, path, project]
const roo = 'Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json'

/** Written by hand. `/` is the separator of every system. */
const FILES: Record<string, Files> = {
  'claude-code': everywhere('.claude.json', '.mcp.json'),
  'claude-desktop': [
    '.config/Claude/claude_desktop_config.json',
    support('Claude/claude_desktop_config.json'),
    'AppData/Roaming/Claude/claude_desktop_config.json',
    null,
  ],
  cursor: everywhere('.cursor/mcp.json', '.cursor/mcp.json'),
  vscode: vscodeFiles('Code'),
  'vscode-insiders': vscodeFiles('Code - Insiders'),
  codex: everywhere('.codex/config.toml', '.codex/config.toml'),
  'github-copilot-cli': everywhere('.copilot/mcp-config.json', '.mcp.json'),
  'gemini-cli': everywhere('.gemini/settings.json', '.gemini/settings.json'),
  antigravity: everywhere('.gemini/config/mcp_config.json', '.agents/mcp_config.json'),
  opencode: everywhere('.config/opencode/opencode.jsonc', 'opencode.jsonc'),
  'devin-desktop': [
    '.config/devin/mcp_config.json',
    '.config/devin/mcp_config.json',
    'AppData/Roaming/devin/mcp_config.json',
    '.devin/mcp_config.json',
  ],
  zed: [
    '.config/zed/settings.json',
    '.config/zed/settings.json',
    'AppData/Roaming/Zed/settings.json',
    '.zed/settings.json',
  ],
  cline: everywhere('.cline/data/settings/cline_mcp_settings.json', null),
  kiro: everywhere('.kiro/settings/mcp.json', '.kiro/settings/mcp.json'),
  'qwen-code': everywhere('.qwen/settings.json', '.qwen/settings.json'),
  goose: [
    '.config/goose/config.yaml',
    '.config/goose/config.yaml',
    'AppData/Roaming/Block/goose/config/config.yaml',
    null,
  ],
  'kilo-code': everywhere('.config/kilo/kilo.jsonc', '.kilo/kilo.jsonc'),
  'jetbrains-ai-assistant': everywhere('.ai/mcp/mcp.json', '.ai/mcp/mcp.json'),
  junie: everywhere('.junie/mcp/mcp.json', '.junie/mcp/mcp.json'),
  'visual-studio': [null, null, '.mcp.json', '.mcp.json'],
  'lm-studio': everywhere('.lmstudio/mcp.json', null),
  warp: everywhere('.warp/.mcp.json', '.warp/.mcp.json'),
  amp: everywhere('.config/amp/settings.json', '.amp/settings.json'),
  'factory-droid': everywhere('.factory/mcp.json', '.factory/mcp.json'),
  auggie: everywhere('.augment/settings.json', '.augment/settings.json'),
  crush: everywhere('.config/crush/crush.json', '.crush.json'),
  trae: [
    '.config/Trae/User/mcp.json',
    support('Trae/User/mcp.json'),
    'AppData/Roaming/Trae/User/mcp.json',
    '.trae/mcp.json',
  ],
  'grok-build': everywhere('.grok/config.toml', '.grok/config.toml'),
  'hermes-agent': ['.hermes/config.yaml', '.hermes/config.yaml', 'AppData/Local/hermes/config.yaml', null],
  'amazon-q': everywhere('.aws/amazonq/mcp.json', '.amazonq/mcp.json'),
  'roo-code': [`.config/${roo}`, support(roo), `AppData/Roaming/${roo}`, '.roo/mcp.json'],
  continue: everywhere('.continue/config.yaml', '.continue/mcpServers/mcp.json'),
  'kimi-code': everywhere('.kimi-code/mcp.json', '.kimi-code/mcp.json'),
  'mistral-vibe': everywhere('.vibe/config.toml', '.vibe/config.toml'),
  'rovo-dev': everywhere('.rovodev/mcp.json', '.rovodev/mcp.json'),
  mcporter: everywhere('.mcporter/mcporter.json', 'config/mcporter.json'),
  sema4: [
    '.sema4ai/sema4ai-studio/mcp_servers.json',
    '.sema4ai/sema4ai-studio/mcp_servers.json',
    'AppData/Local/sema4ai/sema4ai-studio/mcp_servers.json',
    null,
  ],
}

const PROJECT = { linux: '/srv/app', darwin: '/srv/app', win32: 'D:\\src\\app' }

test('every agent of the catalogue is in the table', () => {
  expect(Object.keys(FILES).toSorted()).toEqual(AGENTS.map(({ type }) => type).toSorted())
})

describe.each(Object.entries(FILES))('%s', (type, [linux, darwin, windows, project]) => {
  test.each<[System, string | null]>([
    ['linux', linux],
    ['darwin', darwin],
    ['win32', windows],
  ])('the agent is edited in the file that it reads on %s', (os, user) => {
    const platform = computer({ os })
    const config = (scope: string) =>
      configFilesOf(agentOf(type), platform, PROJECT[os]).find((each) => each.scope === scope)?.path
    const below = (folder: string, path: string) =>
      os === 'win32' ? `${folder}\\${path.replaceAll('/', '\\')}` : `${folder}/${path}`

    expect(config('user')).toBe(user === null ? undefined : below(platform.home, user))
    const inProject = user === null ? null : project
    expect(config('project')).toBe(inProject === null ? undefined : below(PROJECT[os], inProject))
  })
})

describe('config files', () => {
  test('the first existing candidate is used', () => {
    const old = '/home/ada/.gemini/antigravity/mcp_config.json'
    const [user] = configFilesOf(agentOf('antigravity'), computer({ os: 'linux', files: [old] }))
    expect(user).toMatchObject({ path: old, candidates: ['/home/ada/.gemini/config/mcp_config.json', old] })
  })

  /** Best first, below the home or the project. Written by hand. */
  const SEVERAL: [string, string, System, readonly string[]][] = [
    [
      'claude-desktop',
      'user',
      'linux',
      ['.config/Claude/claude_desktop_config.json', '.config/claude/claude_desktop_config.json'],
    ],
    ['github-copilot-cli', 'project', 'linux', ['.mcp.json', '.github/mcp.json']],
    [
      'antigravity',
      'user',
      'linux',
      ['.gemini/config/mcp_config.json', '.gemini/antigravity/mcp_config.json'],
    ],
    ['opencode', 'user', 'linux', ['.config/opencode/opencode.jsonc', '.config/opencode/opencode.json']],
    [
      'opencode',
      'project',
      'linux',
      ['opencode.jsonc', 'opencode.json', '.opencode/opencode.jsonc', '.opencode/opencode.json'],
    ],
    ['kilo-code', 'user', 'linux', ['.config/kilo/kilo.jsonc', '.config/kilo/kilo.json']],
    [
      'kilo-code',
      'project',
      'linux',
      ['.kilo/kilo.jsonc', '.kilo/kilo.json', 'kilo.jsonc', 'kilo.json', '.kilocode/kilo.jsonc'],
    ],
    ['lm-studio', 'user', 'linux', ['.lmstudio/mcp.json', '.cache/lm-studio/mcp.json']],
    ['amp', 'user', 'linux', ['.config/amp/settings.json', '.config/amp/settings.jsonc']],
    ['amp', 'user', 'win32', ['.config/amp/settings.json', 'AppData/Roaming/amp/settings.json']],
    ['amp', 'project', 'linux', ['.amp/settings.json', '.amp/settings.jsonc']],
    ['crush', 'user', 'win32', ['.config/crush/crush.json', 'AppData/Local/crush/crush.json']],
    ['crush', 'project', 'linux', ['.crush.json', 'crush.json']],
    ['mcporter', 'user', 'linux', ['.mcporter/mcporter.json', '.mcporter/mcporter.jsonc']],
    [
      'devin-desktop',
      'user',
      'linux',
      ['.config/devin/mcp_config.json', '.codeium/windsurf/mcp_config.json'],
    ],
    [
      'devin-desktop',
      'user',
      'win32',
      ['AppData/Roaming/devin/mcp_config.json', '.codeium/windsurf/mcp_config.json'],
    ],
    [
      'cline',
      'user',
      'linux',
      [
        '.cline/data/settings/cline_mcp_settings.json',
        '.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
      ],
    ],
  ]

  test('every agent with several files for one scope is in the table', () => {
    const several = AGENTS.flatMap(({ type, scopes }) =>
      scopes.flatMap(({ scope, paths, standsInFor }) => [
        ...(Object.values(paths).some((list) => list.length > 1) ? [`${type} ${scope}`] : []),
        ...(standsInFor === undefined ? [] : [`${type} ${standsInFor}`]),
      ]),
    )
    expect([...new Set(SEVERAL.map(([type, scope]) => `${type} ${scope}`))].toSorted()).toEqual(
      several.toSorted(),
    )
  })

  test.each(SEVERAL)(
    'where %s has several files for the scope %s on %s, the only one that exists is edited, and the best one if there is a choice',
    (type, scope, os, relative) => {
      const { home } = computer({ os })
      const folder = scope === 'project' ? PROJECT[os] : home
      const paths = relative.map((path) =>
        os === 'win32' ? `${folder}\\${path.replaceAll('/', '\\')}` : `${folder}/${path}`,
      )
      const chosen = (files: readonly string[]) =>
        configFilesOf(agentOf(type), computer({ os, files }), PROJECT[os]).find(
          (each) => each.scope === scope,
        )
      expect([chosen([])?.path, chosen(paths)?.path]).toEqual([paths[0], paths[0]])
      for (const path of paths) expect(chosen([path])).toMatchObject({ path, readOnly: false })
    },
  )

  test('the file of an earlier version is listed once, answers to both scopes, and is not used where a variable names the file', () => {
    const old = '/home/ada/.codeium/windsurf/mcp_config.json'
    const scopes = (files: string[]) =>
      configFilesOf(agentOf('windsurf'), computer({ os: 'linux', files })).map(({ scope, path }) => [
        scope,
        path,
      ])
    const plugin = ['user-jetbrains-plugin', '/home/ada/.codeium/mcp_config.json']
    expect(scopes([old])).toEqual([['user', old], plugin])
    const current = '/home/ada/.config/devin/mcp_config.json'
    expect(scopes([old, current])).toEqual([['user', current], ['user-legacy', old], plugin])
    const [windsurf] = configFilesOf(agentOf('windsurf'), computer({ os: 'linux', files: [old] }))
    expect(windsurf && [isScope(windsurf, 'user'), isScope(windsurf, 'user-legacy')]).toEqual([true, true])
    const files = [
      '/home/ada/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    ]
    const cline = configFilesOf(
      agentOf('cline'),
      computer({ os: 'linux', files, env: { CLINE_DIR: '/cfg' } }),
    )
    expect(cline[0]?.path).toBe('/cfg/data/settings/cline_mcp_settings.json')
  })

  test('project files are listed only with a project', () => {
    const scopes = (project?: string) =>
      configFilesOf(agentOf('claude-code'), computer({ os: 'linux' }), project).map(({ scope }) => scope)
    expect(scopes()).toEqual(['user', 'managed'])
    expect(scopes('/srv/app')).toEqual(['user', 'local', 'project', 'managed'])
  })

  test('a project inside the user file is part of the key path, with / on Windows too', () => {
    const local = (os: System) =>
      configFilesOf(agentOf('claude-code'), computer({ os }), `${PROJECT[os]}/`).find(
        ({ scope }) => scope === 'local',
      )
    expect(local('linux')).toMatchObject({
      path: '/home/ada/.claude.json',
      keyPath: ['projects', '/srv/app', 'mcpServers'],
    })
    expect(local('win32')?.keyPath).toEqual(['projects', 'D:/src/app', 'mcpServers'])
  })

  test('a path with an unknown part is left out', () => {
    const scopes = configFilesOf(agentOf('vscode'), computer({ os: 'linux' })).map(({ scope }) => scope)
    expect(scopes).toEqual(['user', 'remote'])
  })

  test('a scope may have its own format, key path and container', () => {
    const files = configFilesOf(agentOf('continue'), computer({ os: 'linux' }))
    expect(
      files.map(({ format, container, nameField, readOnly }) => [format, container, nameField, readOnly]),
    ).toEqual([
      ['yaml', 'list', 'name', false],
      ['json', 'map', null, true],
    ])
  })
})

describe('variable', () => {
  test.each([
    ['claude-code', 'CLAUDE_CONFIG_DIR', '/cfg/.claude.json'],
    ['codex', 'CODEX_HOME', '/cfg/config.toml'],
    ['github-copilot-cli', 'COPILOT_HOME', '/cfg/mcp-config.json'],
    ['goose', 'GOOSE_PATH_ROOT', '/cfg/config/config.yaml'],
    ['crush', 'CRUSH_GLOBAL_CONFIG', '/cfg/crush.json'],
    ['grok-build', 'GROK_HOME', '/cfg/config.toml'],
    ['hermes-agent', 'HERMES_HOME', '/cfg/config.yaml'],
    ['kimi-code', 'KIMI_CODE_HOME', '/cfg/mcp.json'],
    ['cline', 'CLINE_MCP_SETTINGS_PATH', '/cfg'],
    ['cline', 'CLINE_DATA_DIR', '/cfg/settings/cline_mcp_settings.json'],
    ['cline', 'CLINE_DIR', '/cfg/data/settings/cline_mcp_settings.json'],
    ['opencode', 'OPENCODE_CONFIG', '/cfg'],
    ['opencode', 'OPENCODE_CONFIG_DIR', '/cfg/opencode.jsonc'],
    ['zed', 'XDG_CONFIG_HOME', '/cfg/zed/settings.json'],
    ['vscode', 'XDG_CONFIG_HOME', '/cfg/Code/User/mcp.json'],
  ])('the file of %s follows the variable %s', (type, name, path) => {
    const usual = configFilesOf(agentOf(type), computer({ os: 'linux' }))[0]?.path ?? ''
    const moved = (value: string) =>
      configFilesOf(agentOf(type), computer({ os: 'linux', files: [usual], env: { [name]: value } }))[0]?.path
    expect(moved('/cfg')).toBe(path)
    expect([moved(''), moved('not/absolute')]).toEqual([usual, usual])
  })

  test('variables are case-insensitive on Windows', () => {
    const env = { codex_home: 'D:\\codex', AppData: 'E:\\Roaming' }
    const path = (type: string) => configFilesOf(agentOf(type), computer({ os: 'win32', env }))[0]?.path
    expect(path('codex')).toBe('D:\\codex\\config.toml')
    expect(path('vscode')).toBe('E:\\Roaming\\Code\\User\\mcp.json')
  })

  test('a variable that the agent ignores has no effect', () => {
    const env = { XDG_CONFIG_HOME: '/cfg' }
    const [user] = configFilesOf(agentOf('github-copilot-cli'), computer({ os: 'linux', env }))
    expect(user?.path).toBe('/home/ada/.copilot/mcp-config.json')
  })
})

describe('wildcard', () => {
  const packages = 'C:\\Users\\ada\\AppData\\Local\\Packages'
  const tail = 'LocalCache\\Roaming\\Claude\\claude_desktop_config.json'
  const old = 'C:\\Users\\ada\\AppData\\Roaming\\Claude\\claude_desktop_config.json'
  const desktop = (...files: string[]) =>
    configFilesOf(agentOf('claude-desktop'), computer({ os: 'win32', files }))[0]

  test('a wildcard matches a folder even before the file in it exists', () => {
    const config = desktop(`${packages}\\Claude_pzs8\\AppxManifest.xml`, `${packages}\\Other\\x`, old)
    expect(config).toMatchObject({ path: `${packages}\\Claude_pzs8\\${tail}`, ambiguous: [] })
  })

  test('a wildcard without a match is skipped', () => {
    expect(desktop(old)).toMatchObject({ path: old, candidates: [old], ambiguous: [] })
  })

  test('a wildcard that matches two folders is ambiguous', () => {
    const both = [`${packages}\\Claude_a\\${tail}`, `${packages}\\Claude_b\\${tail}`]
    expect(desktop(...both)?.ambiguous).toEqual(both)
  })
})

function vscodeFiles(folder: string): Files {
  const path = `${folder}/User/mcp.json`
  return [`.config/${path}`, support(path), `AppData/Roaming/${path}`, '.vscode/mcp.json']
}

function agentOf(type: string): Agent {
  const agent = findAgent(type)
  if (!agent) throw new Error(`no agent ${type}`)
  return agent
}
