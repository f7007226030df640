import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { type CommandName, commandHelp, readCommand } from '../config/commands.ts'
import { readConfig } from '../config/config.ts'
import { readFlags } from '../config/flags.ts'
import type { GivenFlags } from '../config/parse-flags.ts'
import { EXIT, isStartError, StartError } from '../kernel/exit.ts'
import { Failure } from './failure.ts'
import { ServiceClient } from './service-client.ts'
import { plain } from './status-lines.ts'

interface Running {
  readonly client: ServiceClient
  readonly flags: GivenFlags
  /** Prints what the user needs meanwhile: on stderr when stdout is for the JSON document. */
  readonly say: (text: string) => void
}

/** Runs a command over the API of the running service: its text or its JSON on stdout, failures on stderr with their exit code. */
export async function runCommand(
  name: CommandName,
  words: readonly string[],
  mainFile: string,
  command: (running: Running) => Promise<{ readonly text: string; readonly json: object }>,
): Promise<void> {
  const flags = readUsage(name, words)
  if (flags === 'help') return void process.stdout.write(`${commandHelp(name)}\n`)
  const { env, stdout, stderr } = process
  const config = readConfig({
    flags: readFlags([]),
    platform: { os: process.platform, home: homedir(), env },
    packageRoot: dirname(dirname(mainFile)),
  })
  const isJson = flags.get('json') === 'true'
  const say = (text: string) => void (isJson ? stderr : stdout).write(`${shown(text)}\n`)
  try {
    const client = new ServiceClient(flags.get('url'), config)
    try {
      const { text, json } = await command({ client, flags, say })
      stdout.write(isJson ? `${JSON.stringify(json)}\n` : `${shown(text)}\n`)
    } finally {
      client.close()
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { code, message, hint, exit } = error
    if (isJson) stdout.write(`${JSON.stringify({ code, detail: message, hint })}\n`)
    stderr.write(`toolroom: ${plain(message)}${hintText(hint)}\n`)
    process.exitCode = EXIT[exit]
  }
}

function readUsage(name: CommandName, words: readonly string[]): GivenFlags | 'help' {
  try {
    return readCommand(name, words)
  } catch (error) {
    throw isStartError(error) ? new StartError('usage', error.message) : error
  }
}

/** A hint of the API is a sentence of its own. */
const hintText = (hint: string | null): string =>
  hint === null ? '' : `${/^[a-z]/.test(hint) ? ':' : '.'} ${plain(hint)}`

/** Without control characters, except for our own line breaks. */
const shown = (text: string): string =>
  text
    .split('\n')
    .map((line) => `${/^ */.exec(line)?.[0]}${plain(line)}`)
    .join('\n')
