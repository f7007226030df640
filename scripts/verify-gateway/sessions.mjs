// A whole agent session with a scripted model: checks that an offered tool is called through the gateway.
import { runCli } from '../verify-agents/cli.mjs'
import { put } from '../verify-agents/trial.mjs'
import { connect } from './connection.mjs'
import { startModel } from './model.mjs'

const PROMPT = 'Call the tool'
const TEXT = 'through the gateway'

/** How each agent is configured, by file or environment, to use the model and to call without confirmation. */
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
    // Offer all tools at once, after they are loaded: the scripted model cannot search for tools.
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'none',
      ENABLE_TOOL_SEARCH: 'false',
      MCP_CONNECTION_NONBLOCKING: 'false',
    },
  }),
}

export async function trySession(agent, cli, bed, expect) {
  const { home, project, wire, offered } = bed
  const model = await startModel({ tool: /echo__echo$/, args: { text: TEXT } }) // agents prepend a prefix
  try {
    const { files, args, env } = SETUPS[agent.type](model.url)
    put(home, { ...agent.own?.(project), ...files })
    const { disconnect } = await connect(agent, bed, expect)
    const { value, error, traffic } = await wire.during(() => runCli(cli, { args, env }, bed))
    expect(error === null, error?.message)
    expect(!value?.problem, value?.problem)
    const tools = offered.filter((name) =>
      [...model.offered].some((each) => plain(each).endsWith(plain(name))),
    )
    expect(
      tools.length === offered.length,
      `it offers ${tools.length} of ${offered.length} tools to its model`,
    )
    const called = traffic.methods.includes('tools/call') && model.results.some((each) => each.includes(TEXT))
    expect(called, 'the result of the call did not reach its model')
    const { isRewritten } = await disconnect()
    const remark = isRewritten ? 'rewrites its own file' : null
    return { connected: traffic.revisions.length > 0, tools, called, traffic, remark }
  } finally {
    await model.close()
  }
}

/** Some agents replace characters that their models do not accept. */
const plain = (name) => name.replaceAll(/\W/g, '_')
