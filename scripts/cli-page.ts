import { GROUPS, usageOf } from '../src/cli/commands/help-text.ts'
import { type Command, flagsOf, OUTPUT_FLAGS } from '../src/cli/run/command.ts'

const INTRODUCTION = `# The command line

\`\`\`sh
toolroom ls
\`\`\`

This page is generated from the table of commands, as are the parser, \`toolroom help\` and the shell completions.

- stdout has the answer; progress and hints go to stderr. A pipe gets neither colours nor cut lines.
- \`--json\` prints one document with the field names of the [REST API](api.md). A failure is one document with \`code\`,
  \`detail\` and \`hint\`. With \`-f\`, each line is a document.
- \`--plain\` prints values separated by tabs, without a header.
- Servers, agents and packages are named by id or name, or by an unambiguous beginning of one.
- Nothing is asked without a terminal: the exit code is 2, and the message names the flag. \`--dry-run\` shows what a
  command would change.
- Commands talk to the running service of the data folder (\`TOOLROOM_HOME\`), or to the one at \`--url\`. The token in the
  data folder is not sent to a \`--url\`; set \`AUTH_TOKEN\` for it.
- \`NO_COLOR\`, \`FORCE_COLOR\`, \`TERM=dumb\` and \`--ascii\` decide what a terminal gets.

| Exit code | Meaning |
|---|---|
| 0 | Success |
| 1 | Failed |
| 2 | Wrong usage |
| 3 | The service is not running |
| 4 | The token is missing or wrong |
| 5 | Not found |
| 6 | Conflict |
| 7 | The tool answered with an error |
| 8 | Timeout |
| 9 | Partly done |
| 65 | The database is damaged |
| 70 | Internal error |
| 75 | The data folder is in use |
| 78 | The configuration was refused |
| 130 | Interrupted |
`

/** docs/cli.md: every command with its flags and examples. */
export function cliPage(commands: readonly Command[]): string {
  const groups = GROUPS.flatMap((group) => {
    const own = commands.filter((command) => command.group === group)
    return own.length === 0 ? [] : [`## ${group}\n`, ...own.map(section)]
  })
  return [INTRODUCTION, ...groups].join('\n')
}

function section(command: Command): string {
  const { name, does, text, examples, exits = {} } = command
  const flags = Object.entries(flagsOf(command)).filter(([flag, given]) => OUTPUT_FLAGS[flag] !== given)
  const rows = flags.map(([flag, { value, short, does: sentence }]) => {
    const label = `${short === undefined ? '' : `-${short}, `}--${flag}${value === undefined ? '' : ` ${value}`}`
    return `| \`${label}\` | ${sentence} |`
  })
  const codes = Object.entries(exits).map(([code, meaning]) => `${code} ${meaning}`)
  return [
    `### ${name}\n`,
    `${does}${text === undefined ? '' : ` ${text}`}\n`,
    `\`\`\`\n${usageOf(command)}\n\`\`\`\n`,
    ...(rows.length === 0 ? [] : [`| Flag | |\n|---|---|\n${rows.join('\n')}\n`]),
    ...(codes.length === 0 ? [] : [`Exit codes: ${codes.join(', ')}.\n`]),
    `\`\`\`sh\n${examples.map((example) => `toolroom ${example}`).join('\n')}\n\`\`\`\n`,
  ].join('\n')
}
