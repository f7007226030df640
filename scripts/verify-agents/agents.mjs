// What is particular to each agent: its package, its files, a file as somebody else wrote it, and how to read its answer.
import { parseClaude, parseCodex, parseCopilot, parseGemini, parseOpencode } from './answers.mjs'

/**
 * `files`: the one with the entries first, then the one with the switches, below the home.
 * `beside(echo)`: these files as somebody else left them, with comments where the agent takes them.
 * `connects`: when it is asked, it starts the servers. The others only read their file.
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
      // Its list only reads the file; the server behind its editors starts them, without a sign-in.
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
      '{\n  "somebody": {\n    "enabled": false\n  }\n}',
    ],
    // In a folder that is not trusted it shows every server as disabled.
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
      // It adds $schema where it is missing, so the file of somebody who uses it has one.
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
      '{\n  "disabledMcpServers": [\n    "somebody" // keep\n  ]\n}\n',
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
    strict: true, // a comment in it keeps it from starting
    beside: (echo) => [
      `{\n  "numStartups": 7,\n  "mcpServers": {\n    "theirs": {\n      "type": "stdio",\n      "command": "node",\n      "args": [${JSON.stringify(echo)}],\n      "env": {}\n    }\n  },\n  "lastly": true\n}`,
    ],
    // It switches servers off for each project; without one Toolroom takes the entry out.
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
