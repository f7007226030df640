// Connects an agent through the API and disconnects it, checking its file and its key each time.
import { join } from 'node:path'
import { textsOf } from '../verify-agents/trial.mjs'

const KEY = /tk_[\w-]+/

/**
 * `bridge`: through a local command instead of a URL.
 * @returns `disconnect`, which checks that the previous state is restored
 */
export async function connect(agent, { home, toolroom }, expect, { bridge = false } = {}) {
  const before = textsOf(agent, home)
  const dry = await toolroom.ask('POST', `${agent.type}/connect`, { dry_run: true, create: true, bridge })
  expect(dry.changed && dry.added.join() === 'toolroom', 'the dry run does not report the entry')
  expect(same(before, textsOf(agent, home)), 'the dry run changed its file')

  const report = await toolroom.ask('POST', `${agent.type}/connect`, { create: true, bridge })
  const path = agent.files[0]
  expect(report.path === join(home, path), 'Toolroom chose another file')
  const written = textsOf(agent, home)
  const key = KEY.exec(written[path] ?? '')?.[0]
  expect(key !== undefined && !report.diff.includes(key), 'the file has no key, or the diff contains the key')
  expect(await opens(toolroom, key), 'the key does not open the gateway')

  async function disconnect() {
    const isRewritten = !same(written, textsOf(agent, home))
    await toolroom.ask('POST', `${agent.type}/disconnect`)
    const after = textsOf(agent, home)
    // If the agent rewrote its own file, the bytes cannot be compared; the entry must still be gone.
    if (isRewritten) expect(!after[path]?.includes(key), 'the entry was left in its file')
    else expect(same(before, after), 'after disconnect its file is not byte-identical')
    expect(!(await opens(toolroom, key)), 'the key still opens the gateway')
    return { isRewritten }
  }
  return { disconnect }
}

async function opens({ address }, key) {
  const reply = await fetch(`${address}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    signal: AbortSignal.timeout(10_000),
  })
  await reply.arrayBuffer()
  return reply.status !== 401
}

const same = (before, after) => JSON.stringify(before) === JSON.stringify(after)
