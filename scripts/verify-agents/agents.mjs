// The properties of each agent: its package, its files, files with existing content, and how to parse its list command.
import { parseClaude, parseCodex, parseCopilot, parseGemini, parseOpencode } from './answers.mjs'

/**
 * `files`: paths below the home directory; the file with the entries first, then the one with the on/off settings.
 * `beside(echo)`: these files with existing content, with comments where the agent accepts them.
 * `connects`: its list command starts the servers. The others only read their file.
 */
export const AGENTS = [
  {
    type: 'codex',
    package: '@openai/codex',
    bin: 'bin/codex.js',
    files: ['.codex/config.toml'],
    beside: (echo) => [
      `# mine\nmodel = "gpt" # keep\n\n[mcp_servers.theirs] # of theirs\ncommand = "node"\nargs = [${JSON.stringify(echo)}]\n\n# the end\n[tui]\ntheme = "dark"\n`,
    ],
    connects: true,
    questions: [
      { args: ['mcp', 'list', '--json'] },
      // The list command only reads the file; the app server starts the servers, without a sign-in.
      { args: ['app-server'], lines: askAppServer(), until: /^\{"id":2,.*\n/m },
    ],
    parse: parseCodex,
  },
  {
    type: 'gemini-cli',
    package: '@google/gemini-cli',
    bin: 'bundle/gemini.js',
    files: ['.gemini/settings.json', '.gemini/mcp-server-enablement.json'],
    beside: (echo) => [
      `// mine\n{\n  "ui": { "hideTips": true }, // keep\n  "mcpServers": {\n    /* of theirs */ "theirs": { "command": "node", "args": [${JSON.stringify(echo)}] } // after theirs\n  }\n}\n`,
      '{\n  "other": {\n    "enabled": false\n  }\n}',
    ],
    // In an untrusted folder every server is shown as disabled.
    own: (project) => ({ '.gemini/trustedFolders.json': JSON.stringify({ [project]: 'TRUST_FOLDER' }) }),
    connects: true,
    questions: [{ args: ['mcp', 'list'] }],
    parse: parseGemini,
  },
  {
    type: 'opencode',
    package: 'opencode-ai',
    native: `opencode-${process.platform}-${process.arch}`,
    bin: 'bin/opencode',
    files: ['.config/opencode/opencode.jsonc'],
    beside: (echo) => [
      // OpenCode adds $schema when it is missing, so an existing file has one.
      `// mine\n{\n\t"$schema": "https://opencode.ai/config.json",\n\t"theme": "dark", // keep\n\t"mcp": {\n\t\t/* of theirs */ "theirs": { "type": "local", "command": ["node", ${JSON.stringify(echo)}] }, // after theirs\n\t},\n}\n`,
    ],
    connects: true,
    questions: [{ args: ['mcp', 'list'] }],
    parse: parseOpencode,
  },
  {
    type: 'github-copilot-cli',
    package: '@github/copilot',
    native: `@github/copilot-${process.platform}-${process.arch}`,
    bin: 'copilot',
    files: ['.copilot/mcp-config.json', '.copilot/settings.json'],
    beside: (echo) => [
      `{\n  // mine\n  "mcpServers": {\n    "theirs": { "type": "local", "command": "node", "args": [${JSON.stringify(echo)}], "tools": ["*"] }, // of theirs\n  },\n}\n`,
      '{\n  "disabledMcpServers": [\n    "other" // keep\n  ]\n}\n',
    ],
    connects: false,
    questions: [{ args: ['mcp', 'list', '--json'] }],
    parse: parseCopilot,
  },
  {
    type: 'claude-code',
    package: '@anthropic-ai/claude-code',
    native: `@anthropic-ai/claude-code-${process.platform}-${process.arch}`,
    bin: 'claude',
    files: ['.claude.json'],
    strict: true, // a comment in the file keeps the agent from starting
    beside: (echo) => [
      `{\n  "numStartups": 7,\n  "mcpServers": {\n    "theirs": {\n      "type": "stdio",\n      "command": "node",\n      "args": [${JSON.stringify(echo)}],\n      "env": {}\n    }\n  },\n  "lastly": true\n}`,
    ],
    // The agent disables servers per project; without a project Toolroom removes the entry.
    offByProject: true,
    connects: true,
    questions: [{ args: ['mcp', 'list'] }],
    parse: parseClaude,
  },
]

function askAppServer() {
  const clientInfo = { name: 'toolroom-verify', version: '1' }
  return [
    { id: 1, method: 'initialize', params: { clientInfo } },
    { method: 'initialized' },
    { id: 2, method: 'mcpServerStatus/list', params: {} },
  ].map((message) => JSON.stringify(message))
}
