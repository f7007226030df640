import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/all-commands.ts'
import type { Command } from '../../src/cli/run/command.ts'
import { MAIN } from './bridge.ts'
import { ownFolder } from './folder.ts'
import { some } from './full-or-short.ts'
import { homeEnv } from './home-env.ts'
import { type TestService, TOKEN } from './test-service.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the built program with this environment, without a terminal. */
export async function runCli(
  env: Readonly<Record<string, string>>,
  argv: readonly string[],
  stdin = '',
): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...argv], {
    env: { PATH: process.env.PATH, ...(env.HOME && homeEnv(env.HOME)), ...env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  child.stdin.on('error', () => {}) // a program that reads no input may have ended
  child.stdin.end(stdin)
  const [code] = await once(child, 'close')
  return { code, ...output }
}

/** The environment in which the program finds this service. */
export const cliEnv = (service: TestService): Record<string, string> => ({
  HOME: service.home,
  TOOLROOM_HOME: service.data,
  XDG_CONFIG_HOME: `${service.home}/config`,
  APPDATA: `${service.home}/config`,
  AUTH_TOKEN: TOKEN,
})

/** How a command is tried out. */
export interface Case {
  /** Command lines that succeed. The first is run for people, the last with `--json`. Text goes to stdin. */
  readonly ok: readonly (readonly string[])[]
  readonly stdin?: string
  /** A command line that fails, and its exit code. Without one, every use succeeds. */
  readonly fails?: readonly [argv: readonly string[], code: number]
  /** The exit code of success. Default: 0. */
  readonly code?: number
  /** Also works without a service. */
  readonly isLocal?: boolean
}

/**
 * Check 30 of docs/checks.md for the commands of some groups: `--json` is one document on success and failure, a pipe gets no escape
 * codes, and without a service the exit code is 3 with the name of `toolroom up`.
 */
export function checkCommands(
  names: readonly string[],
  open: () => Promise<TestService>,
  casesIn: (service: TestService) => Readonly<Record<string, Case>>,
): void {
  const commands = COMMANDS.filter(({ name, load }) => load && names.includes(name))

  test(`${names.join(', ')}: success and failure are one JSON document each, and a pipe gets no escape codes (docs/checks.md, check 30)`, async () => {
    const service = await open()
    const env = cliEnv(service)
    const cases = casesIn(service)
    expect(Object.keys(cases).sort()).toEqual([...names].sort())
    const [failing, plain] = [some(commands, 2), some(commands, 2, 1)]
    for (const command of commands) {
      const { name } = command
      const { ok, stdin, fails, code = 0 } = cases[name] ?? expect.unreachable(name)
      if (plain.includes(command)) {
        const args = [name, ...(ok[0] ?? [])].flatMap(words)
        const text = await runCli({ ...env, TERM: 'xterm-256color' }, args, stdin)
        expect.soft(text, `toolroom ${name} ${ok[0]?.join(' ')}`).toMatchObject({ code })
        expect.soft(text.stdout + text.stderr, `escape codes of ${name}`).not.toContain('\u001b')
      }
      const json = await runCli(env, [...words(name), '--json', ...(ok.at(-1) ?? [])], stdin)
      expect.soft(json, `toolroom ${name} --json ${ok.at(-1)?.join(' ')}`).toMatchObject({ code })
      expect.soft(documentIn(json.stdout), `the JSON of ${name}`).toEqual(expect.any(Object))
      if (!fails || !failing.includes(command)) continue
      const failed = await runCli(env, [...words(name), '--json', ...fails[0]], stdin)
      expect.soft(failed, `toolroom ${name} ${fails[0].join(' ')}`).toMatchObject({ code: fails[1] })
      expect.soft(documentIn(failed.stdout), `the failure of ${name}`).toMatchObject(PROBLEM)
    }
  })

  test(`${names.join(', ')}: without a service, the exit code is 3, and toolroom up is named (docs/checks.md, every command)`, async () => {
    const cases = casesIn(NO_HOUSE)
    const env = { HOME: ownFolder() }
    const remote = commands.filter(({ name }) => !(cases[name] ?? expect.unreachable(name)).isLocal)
    for (const command of some(remote, 3)) {
      const { ok, stdin } = cases[command.name] ?? expect.unreachable(command.name)
      const ended = await runCli(env, [...words(command.name), '--json', ...(ok[0] ?? [])], stdin)
      expect
        .soft(ended, command.name)
        .toMatchObject({ code: 3, stderr: expect.stringContaining('toolroom up') })
      expect
        .soft(documentIn(ended.stdout), command.name)
        .toMatchObject({ code: 'not_running', hint: expect.any(String) })
    }
  })
}

/** For the words of the cases only. */
const NO_HOUSE = { home: '', data: '', address: 'http://127.0.0.1:9' } as TestService
const PROBLEM = { code: expect.any(String), detail: expect.stringMatching(/\S/) }
const words = (name: string): string[] => name.split(' ')

/** The one JSON document in a text. */
function documentIn(text: string): unknown {
  const lines = text.trimEnd().split('\n')
  try {
    return lines.length === 1 ? JSON.parse(text) : `${lines.length} lines: ${text}`
  } catch {
    return `no JSON: ${text}`
  }
}

/** The names of the commands in a group. */
export const namesIn = (group: Command['group']): string[] =>
  COMMANDS.filter((command) => command.group === group).map(({ name }) => name)
