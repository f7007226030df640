// A whole session of an agent, with a model of ours: does a tool that it is offered get called through the gateway?
import { runCli } from '../verify-agents/cli.mjs'
import { put } from '../verify-agents/trial.mjs'
import { connect } from './connection.mjs'
import { startModel } from './model.mjs'

const PROMPT = 'Call the tool'
const TEXT = 'through the gateway'

/** How each is told where the model is, in its file or its environment, and that the call needs no question. */
const SETUPS = {
  codex: (url) => ({
    files: {
      '.codex/config.toml': `model = "verify"\nmodel_provider = "verify"\n\n[model_providers.verify]\nname = "verify"\nbase_url = "${url}/v1"\nwire_api = "responses"\n`,
    },
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', PROMPT],
  }),
  'gemini-cli': (url) => ({
    files: { '.gemini/settings.json': '{ "security": { "auth": { "selectedType": "gemini-api-key" } } }\n' },
    args: ['-p', PROMPT, '--approval-mode', 'yolo', '-m', 'gemini-2.5-flash'],
    env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'none' },
  }),
  opencode: (url) => {
    const options = { baseURL: `${url}/v1`, apiKey: 'none' }
    const verify = { npm: '@ai-sdk/openai-compatible', name: 'verify', options, models: { verify: {} } }
    const config = {
      $schema: 'https://opencode.ai/config.json',
      model: 'verify/verify',
      provider: { verify },
    }
    return {
      files: { '.config/opencode/opencode.jsonc': JSON.stringify(config, null, 2) },
      args: ['run', PROMPT],
    }
  },
  'claude-code': (url) => ({
    files: {},
    args: ['-p', PROMPT, '--allowedTools', 'mcp__toolroom__echo__echo'],
    // All tools at once, and not before they are there: a model that searches would have to be a cleverer one.
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'none',
      ENABLE_TOOL_SEARCH: 'false',
      MCP_CONNECTION_NONBLOCKING: 'false',
    },
  }),
}

export async function trySession(agent, cli, house, expect) {
  const { home, project, wire, offered } = house
  const model = await startModel({ wants: /echo__echo$/, args: { text: TEXT } }) // whatever the agent puts before it
  try {
    const { files, args, env } = SETUPS[agent.type](model.url)
    put(home, { ...agent.own?.(project), ...files })
    const { disconnect } = await connect(agent, house, expect)
    const { value, error, heard } = await wire.during(() => runCli(cli, { args, env }, house))
    expect(error === null, error?.message)
    expect(!value?.problem, value?.problem)
    const tools = offered.filter((name) =>
      [...model.offered].some((each) => plain(each).endsWith(plain(name))),
    )
    expect(tools.length === offered.length, `its model is offered ${tools.length} of ${offered.length} tools`)
    const called = heard.methods.includes('tools/call') && model.results.some((each) => each.includes(TEXT))
    expect(called, 'the result of the call did not come back to its model')
    const { isRewritten } = await disconnect()
    const remark = isRewritten ? 'it writes its file by itself' : null
    return { connected: heard.revisions.length > 0, tools, called, heard, remark }
  } finally {
    await model.close()
  }
}

/** Some agents write other signs where their models do not take all of ours. */
const plain = (name) => name.replaceAll(/\W/g, '_')
