/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { AgentImportReport as ImportReport } from '../../src/import/import.schema.ts'
import type { HttpServerView } from '../../src/servers/http/http-servers.schema.ts'
import type { ServerView } from '../../src/servers/stdio/servers.schema.ts'
import { done } from '../support/agents.ts'
import { ownFolder } from '../support/folder.ts'
import { REALISTIC_SECRETS, type RealisticHome, writeRealisticHome } from '../support/realistic-home.ts'
import { AUTHORISED, openTestService, type TestService } from '../support/test-service.ts'

type Item = ImportReport['items'][number]

const read = async <T>(service: TestService, url: string) =>
  (await service.inject({ url, headers: AUTHORISED })).json<T>()
const named = (report: ImportReport, name: string): Item =>
  report.items.find((item) => item.name === name) ?? expect.unreachable(`no item ${name}`)

const importing = (service: TestService, options: object) =>
  done<ImportReport>(service, 'POST', '/import', options)

async function open(): Promise<{ service: TestService; realistic: RealisticHome }> {
  const home = ownFolder()
  const realistic = writeRealisticHome(home)
  return { service: await openTestService({ home }), realistic }
}

describe('the import of a realistic home with nine agents', () => {
  test('every entry of every agent and project is an item, and nothing in it is lost or silently changed (docs/agents.md)', async () => {
    const { service, realistic } = await open()
    const dry = await importing(service, { dry_run: true })
    expect((await read<{ total: number }>(service, '/api/servers')).total).toBe(0)
    const report = await importing(service, {})
    expect(report.items.map(({ server_id: _, ...item }) => item)).toEqual(
      dry.items.map(({ server_id: _, ...item }) => item),
    )
    expect(report.items.map(({ outcome, reason }) => [outcome, reason])).toEqual(
      report.items.map(() => ['created', null]),
    )

    // Every entry is found in exactly one item, and nothing else is.
    const found = report.items.flatMap(({ found_in }) => found_in)
    const key = ({ agent_type, scope, project, name }: (typeof found)[number]) =>
      [agent_type, scope, project, name].join(' ')
    expect(found.map(key).sort()).toEqual(realistic.entries.map(key).sort())

    // No file was written, and nothing was started.
    for (const [path, text] of realistic.files) expect(readFileSync(path, 'utf8')).toBe(text)
    const { items } = await read<{ items: ServerView[] }>(service, '/api/servers')
    expect(items.filter(({ pid }) => pid !== null)).toEqual([])

    // No secret is shown.
    for (const secret of Object.values(REALISTIC_SECRETS))
      expect(JSON.stringify(report)).not.toContain(secret)
  })

  test('references, projects, switches and fields keep their meaning, and what has none is named in a note', async () => {
    const { service, realistic } = await open()
    const { shop, blog, notes } = realistic.projects
    const report = await importing(service, {})
    const stdio = async (name: string) => {
      const { server_id } = named(report, name)
      return service.servers.get(server_id ?? '')
    }
    const http = (name: string) =>
      read<HttpServerView>(service, `/api/http-servers/${named(report, name).server_id}`)

    // Claude Code: ${NAME} of a project's file, and its folder.
    expect(await stdio('warehouse')).toMatchObject({
      command: './bin/warehouse-mcp',
      args: ['--token', '${env:WAREHOUSE_TOKEN}', '--region', '${env:REGION:-eu-west-1}'],
      env: { DATABASE_URL: '${env:DATABASE_URL}' },
      cwd: shop,
    })
    expect(named(report, 'warehouse').notes).toEqual([
      'argument 2 refers to ${env:WAREHOUSE_TOKEN}: set WAREHOUSE_TOKEN in the environment of Toolroom',
      'argument 4 refers to ${env:REGION}, with a default',
      'env DATABASE_URL refers to ${env:DATABASE_URL}: set DATABASE_URL in the environment of Toolroom',
      `It works in the folder of its project, so cwd is ${shop}`,
    ])
    expect(named(report, 'analytics')).toMatchObject({
      enabled: false,
      outgoing: [
        { reference: '${env:ANALYTICS_KEY}', to: 'header Authorization' },
        { reference: '${env:ANALYTICS_BASE}', to: 'url' },
      ],
    })
    expect(await http('analytics')).toMatchObject({ enabled: false, headers: { Authorization: '***' } })
    expect(await stdio('journal')).toMatchObject({ cwd: notes, env: { JOURNAL_DIR: '.' } })

    // The same entry in two projects is two servers, and the one that is off stays off.
    expect(await stdio('files')).toMatchObject({ cwd: shop })
    expect(await stdio('files-blog')).toMatchObject({ cwd: blog })
    expect(named(report, 'files-blog')).toMatchObject({ enabled: false, found_in: [{ project: blog }] })
    expect(await read(service, '/api/servers/files-blog')).toMatchObject({
      status: 'stopped',
      desired_state: 'stopped',
    })
    expect(named(report, 'postgres')).toMatchObject({
      args: ['-y', '@modelcontextprotocol/server-postgres', 'postgresql://***@localhost:5432/shop'],
      plain_secrets: ['argument 3'],
    })

    // Two agents, one name, other values: two servers, and each names the other.
    expect(named(report, 'github')).toMatchObject({
      found_in: [{ agent_type: 'claude-code' }],
      variants: [{ agent_type: 'cursor', differs: ['env GITHUB_PERSONAL_ACCESS_TOKEN'] }],
      plain_secrets: ['env GITHUB_PERSONAL_ACCESS_TOKEN'],
    })
    expect(named(report, 'github-cursor')).toMatchObject({
      found_in: [{ agent_type: 'cursor' }],
      variants: [{ agent_type: 'claude-code', differs: ['env GITHUB_PERSONAL_ACCESS_TOKEN'] }],
    })
    expect(
      named(report, 'memory')
        .found_in.map(({ agent_type }) => agent_type)
        .sort(),
    ).toEqual(['claude-desktop', 'opencode'])
    expect(named(report, 'memory').variants).toMatchObject([
      { agent_type: 'zed', differs: ['env MEMORY_FILE_PATH'] },
    ])
    expect(await stdio('memory-zed')).toMatchObject({ env: { MEMORY_FILE_PATH: expect.any(String) } })

    // Claude Desktop resolves nothing: mcp-remote itself reads the variable.
    expect((await stdio('linear')).args.at(-1)).toBe('Authorization:${AUTH}')
    // Cursor.
    expect((await stdio('playwright')).args).toEqual([
      '@playwright/mcp@latest',
      '--output-dir',
      join(service.home, 'shots'),
    ])
    expect(named(report, 'playwright').can_pin).toBe('@playwright/mcp@latest')
    expect((await stdio('hugo')).args).toEqual([`${blog}/site`])
    // VS Code: inputs become secrets, a default stays one.
    const remote = named(report, 'github-remote')
    expect(remote.notes).toContain(
      'header Authorization refers to ${secret:copilot_token}: set the secret copilot_token',
    )
    expect(remote.notes).toContain('header X-Region refers to ${secret:region}, with a default')
    expect(named(report, 'brave').notes).toEqual([
      'docker passes HTTPS_PROXY from its own environment to the container; add HTTPS_PROXY to env',
      expect.stringContaining('Toolroom runs this container itself, with a read-only root and limits'),
      'Fields without a counterpart are not imported: envFile',
    ])
    expect(named(report, 'events')).toMatchObject({
      type: 'sse',
      outgoing: [{ reference: '${env:TENANT}', to: 'url' }],
    })
    // Codex.
    expect(await stdio('context7-codex')).toMatchObject({
      env: { CONTEXT7_API_KEY: '${env:CONTEXT7_API_KEY}' },
    })
    expect(named(report, 'context7-codex').notes.at(-1)).toBe(
      'Fields without a counterpart are not imported: startup_timeout_sec, tool_timeout_sec',
    )
    expect(named(report, 'figma').outgoing).toMatchObject([
      { reference: '${env:FIGMA_OAUTH_TOKEN}', to: 'header Authorization' },
      { reference: '${env:FIGMA_TEAM}', to: 'header X-Figma-Team' },
    ])
    expect(named(report, 'linear.app')).toMatchObject({ enabled: false })
    expect(named(report, 'linear.app').notes[0]).toContain('enabled_tools')
    expect(await stdio('python-notes')).toMatchObject({ cwd: service.home, env: { PYTHONUNBUFFERED: '1' } })
    // Gemini CLI.
    expect(named(report, 'docs').outgoing).toMatchObject([
      { reference: '${env:DOCS_KEY}', to: 'header X-Api-Key', allowed: false },
    ])
    expect(named(report, 'docs').notes.at(-1)).toContain('timeout, trust')
    expect(named(report, 'fetch')).toMatchObject({ enabled: false })
    // Windsurf, Zed and OpenCode.
    expect(named(report, 'deepwiki').enabled).toBe(false)
    expect(named(report, 'jira').notes.at(-1)).toContain('disabledTools')
    expect((await stdio('sqlite')).args).toEqual(['mcp-server-sqlite', '--db-path', '/srv/app/data.db'])
    expect(await stdio('search')).toMatchObject({ env: { TAVILY_API_KEY: '${env:TAVILY_API_KEY}' } })
    expect(named(report, 'gitlab').notes[0]).toBe(
      'header Authorization contains {file:…}, which is kept as text',
    )
  })

  test('with move_secrets, plain secrets become named ones, and a second import finds every server again', async () => {
    const { service } = await open()
    await importing(service, { move_secrets: true, start_mode: 'manual' })
    const secrets = await read<{ items: { name: string; used_by: string[] }[] }>(service, '/api/secrets')
    expect(secrets.items.map(({ name }) => name)).toEqual([
      'AUTH',
      'BRAVE_API_KEY',
      'GITHUB_PERSONAL_ACCESS_TOKEN',
      'SLACK_BOT_TOKEN',
      'context7.CONTEXT7_API_KEY',
      'postgres.argument-3',
    ])
    for (const { used_by } of secrets.items) expect(used_by).toHaveLength(1)
    const { items } = await read<{ items: ServerView[] }>(service, '/api/servers')
    expect(new Set(items.map(({ start_mode }) => start_mode))).toEqual(new Set(['manual']))
    expect(items.find(({ id }) => id === 'slack')?.env).toEqual({
      SLACK_BOT_TOKEN: '${secret:SLACK_BOT_TOKEN}',
      SLACK_TEAM_ID: '***',
    })
    const again = await importing(service, {})
    expect(again.items.filter(({ outcome }) => outcome !== 'registered')).toEqual([])
    const chosen = await importing(service, { agents: ['claude-code'], names: ['files'], dry_run: true })
    expect(chosen.items).toHaveLength(2)
  })
})
