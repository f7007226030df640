import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { installPackages, programOf } from '../../scripts/fidelity/install.mjs'
import { ERAS, openHost, UI } from '../support/apps.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { post } from '../support/running-servers.ts'
import { openTestService, type TestService } from '../support/test-service.ts'

const MAP = '@modelcontextprotocol/server-map'
const PDF = '@modelcontextprotocol/server-pdf'
const VERSIONS = { [MAP]: '2.0.3', [PDF]: '2.0.4' }
const PATIENCE_MS = 300_000
let folder = ''

/** Two map servers, and one for PDF files. */
const openApps = sharedByTests(async (): Promise<TestService> => {
  const service = await openTestService()
  const paper = join(service.home, 'paper.pdf')
  writeFileSync(paper, '%PDF-1.4\n%%EOF\n')
  const run = async (name: string, program: string, ...args: string[]) => {
    const server = { name, command: process.execPath, args: [programOf(folder, program), '--stdio', ...args] }
    const added = await post(service, '/api/servers', server)
    expect(added.statusCode, added.body).toBe(201)
    const started = await post(service, `/api/servers/${name}/start`)
    expect(started.statusCode, started.body).toBe(200)
  }
  await Promise.all([run('berlin', MAP), run('tokyo', MAP), run('paper', PDF, paper)])
  return service
})

beforeAll(async () => {
  folder = await installPackages('apps', VERSIONS)
}, PATIENCE_MS)

test('the pages of two map servers and a PDF server are told apart at /mcp, and each calls its own server, in both eras', async () => {
  const service = await openApps()
  for (const era of ERAS) {
    const { ask, items, call, pageOf } = await openHost(service, era)
    const hello = era === 'legacy' ? 'initialize' : 'server/discover'
    expect((await ask(hello)).result).toMatchObject({ capabilities: { extensions: { [UI]: {} } } })
    const pages = {
      berlin: ['ui://berlin/cesium-map/mcp-app.html', 'show-map', 'geocode'],
      paper: ['ui://paper/pdf-viewer/mcp-app.html', 'display_pdf', 'read_pdf_bytes'],
      tokyo: ['ui://tokyo/cesium-map/mcp-app.html', 'show-map', 'geocode'],
    }
    const listed = async () => (await items('resources/list', 'resources')).map(({ uri }) => uri)
    await expect.poll(listed).toEqual(Object.values(pages).map(([uri]) => uri))
    for (const [server, [uri, shows, tool = '']] of Object.entries(pages)) {
      expect(await pageOf(`${server}__${shows}`)).toBe(uri)
      const [page] = await items('resources/read', 'contents', { uri })
      expect(page).toMatchObject({ uri, mimeType: 'text/html;profile=mcp-app' })
      expect(page?.text).toContain(`<title>${server === 'paper' ? 'PDF Viewer' : 'CesiumJS Globe'}</title>`)
      expect(page?._meta).toMatchObject({ ui: { csp: { connectDomains: expect.any(Array) } } })
      const before = await callsOf(service, server, tool)
      expect(await call(tool)).toContain('Invalid arguments') // before it uses the network
      expect(await callsOf(service, server, tool)).toBe(before + 1)
    }
  }
})

test('an agent without the extension uses the tools of servers with pages, in both eras', async () => {
  const service = await openApps()
  for (const era of ERAS) {
    const { call, items } = await openHost(service, era, { capabilities: {} })
    const names = (await items('tools/list', 'tools')).map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['berlin__show-map', 'tokyo__show-map', 'paper__display_pdf']),
    )
    const shown = await call('tokyo__show-map', { west: 139, south: 35, east: 140, north: 36 })
    expect(shown).toContain('Displaying globe at: W:139.0000')
    expect(await call('paper__list_pdfs')).toContain('paper.pdf')
  }
})

/** How often a tool of a server was called. */
async function callsOf(service: TestService, server: string, tool: string): Promise<number> {
  const { items } = (await service.inject('/api/metrics/tools')).json<{
    items: { server_id: string; tool: string; calls: { total: number } }[]
  }>()
  return items.find((each) => each.server_id === server && each.tool === tool)?.calls.total ?? 0
}
